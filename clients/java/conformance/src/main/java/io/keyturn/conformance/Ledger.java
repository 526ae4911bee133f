package io.keyturn.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** The file in which all players write what they do, in one order. */
record Ledger(Optional<Path> path) {
    private static final String PLAYER = "java-" + ProcessHandle.current().pid();

    /** Appended in one write, so that lines of several processes do not mix. */
    void note(String what, String queue, String key, long token, String itemIds) {
        if (path.isEmpty()) return;
        String line = String.join("\t", what, queue, key, Long.toString(token), PLAYER, itemIds) + "\n";
        try {
            Files.write(
                    path.get(),
                    line.getBytes(StandardCharsets.UTF_8),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
