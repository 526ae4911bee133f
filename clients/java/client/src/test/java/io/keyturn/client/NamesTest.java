package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Names that meet in one program. */
class NamesTest {
    private static Set<String> classesOf(String folder) throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target/classes", folder))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".class") && !name.contains("$"))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    @Test
    void noClassOfTheClientHasTheNameOfAMessageSoThatBothCanBeImported() throws IOException {
        Set<String> both = classesOf("io/keyturn/client");
        assertTrue(both.contains("Keyturn.class"));
        Set<String> messages = classesOf("io/keyturn/v1");
        assertTrue(messages.contains("Turn.class"));
        both.retainAll(messages);
        assertEquals(Set.of(), both);
    }

    @Test
    void aTestThatStartsASidecarSaysSoAndIsLeftOutOfAnInstall() throws IOException {
        List<Path> tests;
        try (Stream<Path> files = Files.walk(Path.of("src/test/java/io/keyturn/client"))) {
            tests = files.filter(file -> file.toString().endsWith("Test.java")).toList();
        }
        for (Path test : tests) {
            String text = Files.readString(test);
            boolean starts = text.contains("Sidecar." + "start") || text.contains("Sidecar." + "listeningOn");
            assertTrue(!starts || text.contains("@Tag(\"sidecar\")"), test + " has no @Tag(\"sidecar\")");
        }
    }
}
