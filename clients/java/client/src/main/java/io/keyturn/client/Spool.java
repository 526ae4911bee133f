package io.keyturn.client;

import io.keyturn.client.SpoolException.Problem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Items on disk, first in, first out: appended to the newest segment, read from the oldest, which is removed when all its items
 * were handed over. An append is safe when it is synced. Of the producer's thread.
 *
 * <p>How far the oldest segment was handed over is noted in the file {@code cursor}. It saves work, it is not needed: where it is
 * missing or cut off, the segment is handed over from its start, and the sidecar knows the items again by their ids.
 *
 * <p>After a failure of the file system nothing more is appended, because nobody knows what is on disk; what is there is still read.
 */
final class Spool {
    private static final int LARGEST_SEGMENT = 8 * 1_048_576;
    /** Space comes free by segments: a small spool has small ones. */
    private static final int SEGMENTS = 8;

    private static final int CURSOR_BODY = 16;

    /** Items in the order in which they were appended. {@code end}: where the segment is read on after them. */
    record Chunk(List<Item> items, int end) {}

    private final SpoolOptions options;
    private final byte[] title;
    private final DirectoryLock lock;
    private final FileChannel cursor;
    private final ArrayDeque<SpoolSegment> sealed = new ArrayDeque<>();
    private SpoolException torn;
    private SpoolException broken;

    /** The newest segment; null: none. */
    private FileChannel active;

    private long activeNumber;
    private int activeBytes;
    private int activeItems;
    private long nextNumber;
    /** Of all segments. */
    private long bytes;

    private volatile long items;
    /** Of the oldest segment; null: it is not read. */
    private byte[] reading;

    private int readingAt;

    /** @throws SpoolException nothing was changed then */
    Spool(SpoolOptions options, String queue) {
        this.options = options;
        this.title = SpoolSegment.title(queue);
        Path directory = options.directory();
        try {
            Files.createDirectories(directory);
            lock = DirectoryLock.take(directory);
        } catch (IOException error) {
            throw new SpoolException(Problem.IO, directory, "cannot be used", error);
        }
        FileChannel opened = null;
        try {
            opened = FileChannel.open(
                    directory.resolve("cursor"),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE);
            cursor = opened;
            look(directory, queue);
        } catch (IOException | SpoolException error) {
            closeQuietly(opened);
            lock.release();
            if (error instanceof SpoolException known) throw known;
            throw new SpoolException(Problem.IO, directory, "cannot be read", error);
        }
    }

    private void look(Path directory, String queue) throws IOException {
        List<Path> paths;
        try (Stream<Path> files = Files.list(directory)) {
            paths = files.filter(path -> SpoolSegment.numberOf(path) >= 0).sorted().toList();
        }
        // All of them are looked at before any is changed.
        List<SpoolSegment.Scan> scans = new ArrayList<>();
        for (int at = 0; at < paths.size(); at++) {
            scans.add(SpoolSegment.scan(paths.get(at), queue, at == paths.size() - 1));
        }
        for (SpoolSegment.Scan scan : scans) take(scan);
    }

    private void take(SpoolSegment.Scan scan) throws IOException {
        SpoolSegment segment = scan.segment();
        nextNumber = segment.number() + 1;
        if (scan.torn() > 0) {
            try (FileChannel file = FileChannel.open(segment.path(), StandardOpenOption.WRITE)) {
                file.truncate(segment.bytes());
            }
            String what = scan.torn() + " bytes of a record that was never confirmed were cut away";
            torn = new SpoolException(Problem.TORN, segment.path(), what, null);
        }
        if (segment.items() == 0) {
            Files.delete(segment.path());
            return;
        }
        if (sealed.isEmpty()) {
            int done = Math.max(0, scan.starts().indexOf(noted(segment.number())));
            items -= Math.min(done, segment.items());
            readingAt = scan.starts().get(done);
        }
        sealed.add(segment);
        bytes += segment.bytes();
        items += segment.items();
    }

    /** What was cut away from the newest segment; null: nothing. */
    SpoolException torn() {
        return torn;
    }

    /** Why nothing more is appended; null: it is. */
    SpoolException broken() {
        return broken;
    }

    /** How many are left. For any thread. */
    long items() {
        return items;
    }

    /** Everything that is left stands in the segment that is being read. */
    boolean isNearlyEmpty() {
        return active == null && sealed.size() <= 1;
    }

    static byte[] encode(Item item) {
        return SpoolRecord.encode(item.message().toByteArray());
    }

    /** Whether so many bytes fit in now. */
    boolean fits(long size) {
        return bytes + size + title.length <= options.maxBytes();
    }

    /** Whether so many bytes fit into an empty spool. */
    boolean everFits(long size) {
        return size + title.length <= options.maxBytes();
    }

    /** Writes them. Whoever calls has looked whether they fit; they are safe after {@link #sync}. */
    void append(List<byte[]> records) {
        if (broken != null) throw broken;
        try {
            for (byte[] record : records) {
                makeRoomFor(record.length);
                write(active, record, activeBytes);
                activeBytes += record.length;
                activeItems++;
                bytes += record.length;
                items++;
            }
        } catch (IOException error) {
            throw failed(error);
        }
    }

    void sync() {
        if (broken != null) throw broken;
        try {
            if (active != null) active.force(false);
        } catch (IOException error) {
            throw failed(error);
        }
    }

    /** The next items, at least one; null: there are none. They stay until {@link #advance}. */
    Chunk read(int most, int mostBytes) {
        SpoolSegment segment = oldest();
        if (segment == null) return null;
        open(segment);
        List<Item> found = new ArrayList<>();
        int offset = readingAt;
        int size = 0;
        while (found.size() < most && offset < segment.bytes()) {
            byte[] body = SpoolRecord.at(reading, offset);
            if (body == null) {
                throw new SpoolException(Problem.DAMAGED, segment.path(), "damaged at byte " + offset, null);
            }
            if (!found.isEmpty() && size + body.length > mostBytes) break;
            found.add(SpoolSegment.item(segment.path(), offset, body));
            size += body.length;
            offset += SpoolRecord.HEADER + body.length;
        }
        return new Chunk(found, offset);
    }

    /** These items, the last that were read, are done with. */
    void advance(Chunk chunk) {
        SpoolSegment segment = sealed.element();
        readingAt = chunk.end();
        items -= chunk.items().size();
        try {
            if (chunk.end() < segment.bytes()) {
                note(segment.number(), chunk.end());
                return;
            }
            Files.delete(segment.path());
            sealed.remove();
            bytes -= segment.bytes();
            reading = null;
            readingAt = 0;
        } catch (IOException error) {
            throw new SpoolException(Problem.IO, segment.path(), "what was handed over cannot be noted", error);
        }
    }

    /** Syncs what is not yet, and lets go of the directory. What is left is there for the next start. */
    void close() {
        try {
            if (broken == null) sync();
        } finally {
            closeQuietly(active);
            closeQuietly(cursor);
            lock.release();
        }
    }

    private SpoolSegment oldest() {
        try {
            if (sealed.isEmpty()) seal();
        } catch (IOException error) {
            throw failed(error);
        }
        return sealed.peek();
    }

    private void open(SpoolSegment segment) {
        if (reading != null) return;
        try {
            reading = Files.readAllBytes(segment.path());
        } catch (IOException error) {
            throw new SpoolException(Problem.IO, segment.path(), "cannot be read", error);
        }
        if (readingAt == 0) readingAt = SpoolRecord.HEADER + Math.max(0, SpoolRecord.lengthAt(reading, 0));
    }

    private void makeRoomFor(int size) throws IOException {
        long most = Math.min(LARGEST_SEGMENT, options.maxBytes() / SEGMENTS);
        if (active != null && activeItems > 0 && activeBytes + size > most) seal();
        if (active != null) return;
        activeNumber = nextNumber++;
        Path path = SpoolSegment.path(options.directory(), activeNumber);
        active = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        write(active, title, 0);
        activeBytes = title.length;
        activeItems = 0;
        bytes += title.length;
        active.force(true);
        // A file whose name is not on disk is not there after a power cut.
        try (FileChannel directory = FileChannel.open(options.directory(), StandardOpenOption.READ)) {
            directory.force(true);
        }
    }

    /** Nothing is written to the newest segment any more: it may be read. */
    private void seal() throws IOException {
        if (active == null) return;
        if (broken == null) active.force(false);
        closeQuietly(active);
        active = null;
        Path path = SpoolSegment.path(options.directory(), activeNumber);
        if (activeItems > 0) sealed.add(new SpoolSegment(activeNumber, path, activeBytes, activeItems));
    }

    private SpoolException failed(IOException error) {
        broken = new SpoolException(Problem.IO, options.directory(), "cannot be written", error);
        return broken;
    }

    private static void write(FileChannel file, byte[] record, long at) throws IOException {
        ByteBuffer left = ByteBuffer.wrap(record);
        while (left.hasRemaining()) file.write(left, at + left.position());
    }

    private void note(long segment, int offset) throws IOException {
        byte[] body = ByteBuffer.allocate(CURSOR_BODY).putLong(segment).putLong(offset).array();
        write(cursor, SpoolRecord.encode(body), 0);
    }

    /** How far this segment was handed over; -1: nothing is noted of it. */
    private int noted(long segment) throws IOException {
        ByteBuffer found = ByteBuffer.allocate(SpoolRecord.HEADER + CURSOR_BODY);
        cursor.read(found, 0);
        byte[] body = SpoolRecord.at(found.array(), 0);
        if (body == null || body.length != CURSOR_BODY) return -1;
        ByteBuffer numbers = ByteBuffer.wrap(body);
        return numbers.getLong() == segment ? (int) numbers.getLong() : -1;
    }

    private static void closeQuietly(FileChannel file) {
        try {
            if (file != null) file.close();
        } catch (IOException nothingIsLost) {
            return;
        }
    }
}
