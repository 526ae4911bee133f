package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.internal.words.Version;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All of the project has one version. */
class VersionTest {
    @Test
    void thatOfTheProject() throws Exception {
        assertEquals(found("\"version\": \"([^\"]+)\"", Sidecar.root().resolve("package.json")), Version.VERSION);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pom.xml", "../pom.xml", "../conformance/pom.xml", "../README.md"})
    void thatOfTheBuild(String file) throws Exception {
        assertEquals(Version.VERSION, found("<version>([^<]+)</version>", Path.of(file)));
    }

    private static String found(String pattern, Path file) throws Exception {
        Matcher found = Pattern.compile(pattern).matcher(Files.readString(file));
        assertTrue(found.find(), file + " has no version");
        return found.group(1);
    }
}
