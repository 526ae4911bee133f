package io.keyturn.client.internal.produce;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file, or a directory, whose name is not on disk is not there after a power cut. */
final class SpoolDirectory {
    private SpoolDirectory() {}

    /** With its parents; the names of new ones are on disk when this returns. */
    static void make(Path directory) throws IOException {
        if (Files.isDirectory(directory)) return;
        Path parent = directory.toAbsolutePath().getParent();
        if (parent == null) return;
        make(parent);
        try {
            Files.createDirectory(directory);
        } catch (FileAlreadyExistsException another) {
            // Another producer may make it at the same moment.
            if (!Files.isDirectory(directory)) throw another;
        }
        sync(parent);
    }

    /** The names of its files are on disk when this returns. */
    static void sync(Path directory) throws IOException {
        try (FileChannel opened = FileChannel.open(directory, StandardOpenOption.READ)) {
            opened.force(true);
        }
    }
}
