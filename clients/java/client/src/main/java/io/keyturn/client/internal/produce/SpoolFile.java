package io.keyturn.client.internal.produce;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The newest segment of a spool, while it is appended to. */
final class SpoolFile {
    private final long number;
    private final Path path;
    private final FileChannel file;
    private int bytes;
    private int items;

    private SpoolFile(long number, Path path, FileChannel file, int bytes) {
        this.number = number;
        this.path = path;
        this.file = file;
        this.bytes = bytes;
    }

    /** Its name and its title are on disk when this returns; nothing is left of it when this fails. */
    static SpoolFile create(SpoolDisk disk, Path directory, long number, byte[] title) throws IOException {
        Path path = SpoolSegment.path(directory, number);
        FileChannel file = disk.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            write(file, title, 0);
            file.force(true);
            SpoolDirectory.sync(directory);
        } catch (IOException failed) {
            closeQuietly(file);
            Files.deleteIfExists(path);
            throw failed;
        }
        return new SpoolFile(number, path, file, title.length);
    }

    int bytes() {
        return bytes;
    }

    int items() {
        return items;
    }

    /** What was half written is what the next one is written over: {@link #mend} cuts it away. */
    void append(byte[] record) throws IOException {
        write(file, record, bytes);
        bytes += record.length;
        items++;
    }

    /** After a failed append: cuts away what is not whole, for good: no power cut brings it back in front of what is written next. */
    void mend() throws IOException {
        cut(file, bytes);
    }

    /** Safe when it returns. */
    static void cut(FileChannel file, int bytes) throws IOException {
        file.truncate(bytes);
        file.force(true);
    }

    void sync() throws IOException {
        file.force(false);
    }

    /** Nothing is appended any more. */
    SpoolSegment sealed() {
        closeQuietly(file);
        return new SpoolSegment(number, path, bytes, items);
    }

    private static void write(FileChannel file, byte[] record, long at) throws IOException {
        ByteBuffer left = ByteBuffer.wrap(record);
        while (left.hasRemaining()) file.write(left, at + left.position());
    }

    private static void closeQuietly(FileChannel file) {
        try {
            file.close();
        } catch (IOException nothingIsLost) {
            return;
        }
    }
}
