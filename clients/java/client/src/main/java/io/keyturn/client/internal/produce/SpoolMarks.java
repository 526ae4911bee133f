package io.keyturn.client.internal.produce;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * What a spool knows besides its segments, in two small files: how far the oldest segment was handed over ({@code cursor}), and
 * which number was the last ({@code last}). Each is a record with its checksum: one that was cut off counts as none.
 *
 * <p>A number is never used again. Else a cursor that outlived its segment would fit another one, and what stands before its
 * place there would never be handed over.
 */
final class SpoolMarks {
    private static final int CURSOR_BODY = 16;
    private static final int LAST_BODY = 8;

    /** Everything of this segment before the offset was handed over. */
    record Cursor(long segment, long offset) {}

    private final Path directory;
    private final Path cursor;
    private final Path last;
    private long used;

    SpoolMarks(Path directory) {
        this.directory = directory;
        this.cursor = directory.resolve("cursor");
        this.last = directory.resolve("last");
    }

    /** Null: nothing is noted. */
    Cursor cursor() throws IOException {
        ByteBuffer body = bodyOf(cursor, CURSOR_BODY);
        return body == null ? null : new Cursor(body.getLong(), body.getLong());
    }

    /**
     * It saves work, it is not needed: the sidecar knows the items again by their ids. So it is not synced, and a disk without
     * room for it keeps nothing from being handed over.
     */
    void moveCursor(long segment, long offset) {
        byte[] body = ByteBuffer.allocate(CURSOR_BODY).putLong(segment).putLong(offset).array();
        try {
            Files.write(cursor, SpoolRecord.encode(body));
        } catch (IOException notNoted) {
            return;
        }
    }

    /** Its segment goes. Should this fail, its number fits no other one. */
    void dropCursor() {
        try {
            Files.deleteIfExists(cursor);
        } catch (IOException fitsNoOther) {
            return;
        }
    }

    /** The largest number that was ever used, as far as these files tell; 0: none. */
    long lastNumber() throws IOException {
        ByteBuffer body = bodyOf(last, LAST_BODY);
        used = body == null ? 0 : body.getLong();
        Cursor noted = cursor();
        return Math.max(used, noted == null ? 0 : noted.segment());
    }

    /** It counts as used when this returns. The name of the file is on disk when the directory is synced. */
    void use(long number) throws IOException {
        if (number <= used) return;
        Path fresh = directory.resolve("last.new");
        byte[] record = SpoolRecord.encode(ByteBuffer.allocate(LAST_BODY).putLong(number).array());
        try (FileChannel file = FileChannel.open(
                fresh, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            for (ByteBuffer left = ByteBuffer.wrap(record); left.hasRemaining(); ) file.write(left);
            file.force(true);
        }
        Files.move(fresh, last, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        used = number;
    }

    private static ByteBuffer bodyOf(Path path, int size) throws IOException {
        // Read by size: what stands in its place need not end.
        ByteBuffer found = ByteBuffer.allocate(SpoolRecord.HEADER + size);
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            while (found.hasRemaining() && file.read(found) > 0) continue;
        } catch (NoSuchFileException none) {
            return null;
        }
        byte[] body = SpoolRecord.at(found.array(), 0);
        return body == null || body.length != size ? null : ByteBuffer.wrap(body);
    }
}
