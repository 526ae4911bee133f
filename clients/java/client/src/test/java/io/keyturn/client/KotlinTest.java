package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The readme's example for Kotlin, and what Kotlin makes of exceptions: compiled by its own compiler, and run. */
@Tag("sidecar")
class KotlinTest {
    private static final Pattern BLOCK = Pattern.compile("```kotlin\\n(.*?)```\\s*```text\\n(.*?)```", Pattern.DOTALL);
    private static final String CLASSPATH = System.getProperty("java.class.path");
    private static final String CHECKED = """
            try {
                keyturn.withTurn("thumbnails", "broken") { throw java.io.IOException("the disk is full") }
            } catch (error: java.io.IOException) {
                println("thrown: " + error.message)
            }
            """;

    @TempDir
    private Path folder;

    /** What it prints; it must end with 0. */
    private static String run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(Wait.SECONDS, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), printed);
        return printed;
    }

    private static String lines(String code, boolean areImports) {
        return String.join("\n", code.lines().filter(line -> line.startsWith("import ") == areImports).toList());
    }

    @Test
    void lambdasAreHandlersAndWhatTheyThrowIsThrownOn() throws Exception {
        Matcher example = BLOCK.matcher(Files.readString(Path.of("../README.md")));
        assertTrue(example.find(), "the readme has no example for Kotlin");
        String code = example.group(1);
        Path source = Files.writeString(
                folder.resolve("Example.kt"),
                lines(code, true) + "\nfun main(arguments: Array<String>) {\n  Keyturn.connect(arguments[0]).use { keyturn ->\n"
                        + lines(code, false) + "\n" + CHECKED + "  }\n}\n");
        String warned = run(
                "-cp", CLASSPATH, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-jvm-target", "17",
                "-Werror", "-classpath", CLASSPATH, "-d", folder.toString(), source.toString());
        try (Sidecar sidecar = Sidecar.start()) {
            String printed = run("-cp", folder + File.pathSeparator + CLASSPATH, "ExampleKt", sidecar.address());
            assertEquals(example.group(2) + "thrown: the disk is full\n", printed, warned);
        }
    }
}
