package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.internal.words.Kind;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Compiles and runs each example of the readme, and compares what it prints with what the readme says. */
@Tag("sidecar")
@Isolated("replaces the standard output of the process")
class ReadmeTest {
    private static final Pattern BLOCK = Pattern.compile("```java\\n(.*?)```(?:\\s*```text\\n(.*?)```)?", Pattern.DOTALL);
    private static final int EXAMPLES = 11;

    @TempDir
    private static Path classes;

    private record Example(String name, String code, String prints) {}

    @TestFactory
    Stream<DynamicTest> examples() throws Exception {
        List<Example> examples = examplesOf(Files.readString(Path.of("../README.md")));
        assertEquals(EXAMPLES, examples.size());
        return examples.stream().map(example -> DynamicTest.dynamicTest(example.name(), () -> run(example)));
    }

    private static List<Example> examplesOf(String readme) {
        List<Example> examples = new ArrayList<>();
        Matcher blocks = BLOCK.matcher(readme);
        while (blocks.find()) examples.add(new Example("Example" + examples.size(), blocks.group(1), blocks.group(2)));
        return examples;
    }

    private static void run(Example example) throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            compile(example.name(), source(example, sidecar.address()));
            if (example.prints() == null) {
                work(example, sidecar);
                return;
            }
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream out = System.out;
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            try {
                loader.loadClass(example.name()).getMethod("run").invoke(null);
            } finally {
                System.setOut(out);
            }
            String text = printed.toString(StandardCharsets.UTF_8);
            assertEquals(example.prints(), text);
        }
    }

    /** The worker works until its process is told to end. */
    private static void work(Example example, Sidecar sidecar) throws Exception {
        String path = classes + File.pathSeparator + System.getProperty("java.class.path");
        Process worker = ExitTest.run(path, example.name());
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.get(keyturn.submit("orders", QueueItem.of("ada", "order 12")));
            assertEquals("ada: order 12", ExitTest.line(worker));
        } finally {
            worker.destroyForcibly();
        }
    }

    @Test
    void theEndOfAWorkerIsAsItsTestHasIt() throws Exception {
        String hook = "Runtime.getRuntime().addShutdownHook(new Thread(keyturn::close));";
        assertTrue(Files.readString(Path.of("../README.md")).contains(hook));
        assertTrue(Files.readString(Path.of("src/test/java/io/keyturn/client/ExitTest.java")).contains(hook));
    }

    /** An example that does not connect has a client. */
    private static String source(Example example, String address) {
        String imports = lines(example, true);
        String body = lines(example, false).replace("127.0.0.1:7420", address);
        boolean connects = body.stripLeading().startsWith("try (Keyturn keyturn");
        String client = "try (io.keyturn.client.Keyturn keyturn = io.keyturn.client.Keyturn.connect(\"" + address + "\")) {\n";
        String main = "  public static void main(String[] arguments) throws Exception {\n    run();\n  }\n";
        return imports + "\npublic class " + example.name() + " {\n" + main + "  public static void run() throws Exception {\n"
                + (connects ? body : client + body + "}") + "\n  }\n}\n";
    }

    private static String lines(Example example, boolean areImports) {
        return example.code()
                .lines()
                .filter(line -> line.startsWith("import ") == areImports)
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static void compile(String name, String source) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        List<String> options = List.of("-d", classes.toString(), "-classpath", System.getProperty("java.class.path"));
        boolean compiled = compiler.getTask(null, null, problems, options, null, List.of(new Source(name, source)))
                .call();
        assertTrue(compiled, problems.getDiagnostics() + "\n" + source);
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name + Kind.SOURCE.extension), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}
