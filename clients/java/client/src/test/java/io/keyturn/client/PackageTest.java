package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.internal.words.Version;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is published. */
@Tag("package")
class PackageTest {
    @Test
    void theJarHasNothingOfOthersSoThatItMeetsNoOtherCopyOfThat() throws Exception {
        Path jar = Path.of("target/keyturn-client-" + Version.VERSION + ".jar");
        assertTrue(Files.exists(jar), jar + " is missing: run mvn package, or clients/java/check");
        try (ZipFile files = new ZipFile(jar.toFile())) {
            List<String> names = files.stream().filter(file -> !file.isDirectory()).map(ZipEntry::getName).toList();
            assertTrue(names.contains("io/keyturn/client/Keyturn.class") && names.contains("io/keyturn/v1/Turn.class"));
            List<String> foreign = names.stream()
                    .filter(name -> !name.startsWith("io/keyturn/") && !name.startsWith("META-INF/"))
                    .toList();
            assertEquals(List.of(), foreign);
        }
    }
}
