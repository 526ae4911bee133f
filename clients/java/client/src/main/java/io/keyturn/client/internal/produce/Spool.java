package io.keyturn.client.internal.produce;

import io.keyturn.client.QueueItem;
import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.SpoolException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.SpoolSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Items on disk, first in, first out: appended to the newest segment, read from the oldest, which is removed when all its items
 * were handed over. An append is safe when it is synced. Of the producer's thread.
 *
 * <p>A disk that is full takes items again when it has room: what was half written is cut away. After a failure that leaves open
 * what is on disk nothing more is appended until all of it was handed over; it is still read.
 */
final class Spool {
    private static final int LARGEST_SEGMENT = 8 * 1_048_576;
    /** Space comes free by segments: a small spool has small ones. */
    private static final int SEGMENTS = 8;

    private final SpoolSettings options;
    private final SpoolDisk disk;
    private final byte[] title;
    private final DirectoryLock lock;
    private final SpoolMarks marks;
    private final ArrayDeque<SpoolSegment> sealed = new ArrayDeque<>();
    /** Handed over, and not removed yet, because that failed. */
    private final ArrayDeque<Path> gone = new ArrayDeque<>();

    private SpoolException torn;
    private SpoolException broken;
    /** A file that was not whole was removed, and its name may come back with a power cut. */
    private boolean hasRagged;
    private SpoolException full;

    /** The newest segment; null: none. */
    private SpoolFile active;

    private long nextNumber;
    /** Of all segments. */
    private long bytes;

    private volatile long items;
    private final SpoolReader reader = new SpoolReader();

    /** @throws SpoolException nothing was changed then */
    Spool(SpoolSettings options, String queue) {
        this(options, queue, SpoolDisk.REAL);
    }

    Spool(SpoolSettings options, String queue, SpoolDisk disk) {
        this.disk = disk;
        this.options = options;
        this.title = SpoolSegment.title(queue);
        this.marks = new SpoolMarks(options.directory());
        Path directory = options.directory();
        try {
            SpoolDirectory.make(directory);
            lock = DirectoryLock.take(directory);
        } catch (IOException error) {
            throw Failures.spool(Problem.IO, directory, "cannot be used", error);
        }
        try {
            look(directory, queue);
        } catch (IOException | UncheckedIOException | SpoolException error) {
            lock.release();
            if (error instanceof SpoolException known) throw known;
            throw Failures.spool(Problem.IO, directory, "cannot be read", error);
        }
    }

    private void look(Path directory, String queue) throws IOException {
        SpoolMarks.Cursor cursor = marks.cursor();
        nextNumber = marks.lastNumber() + 1;
        // All of them are looked at before any is changed.
        List<SpoolSegment.Scan> scans = SpoolSegment.scanAll(directory, queue);
        for (SpoolSegment.Scan scan : scans) take(scan, cursor);
    }

    private void take(SpoolSegment.Scan scan, SpoolMarks.Cursor cursor) throws IOException {
        SpoolSegment segment = scan.segment();
        nextNumber = Math.max(nextNumber, segment.number() + 1);
        if (scan.torn() > 0) {
            try (FileChannel file = disk.open(segment.path(), StandardOpenOption.WRITE)) {
                SpoolFile.cut(file, segment.bytes());
            }
            String what = scan.torn() + " bytes of a record that was never confirmed were cut away";
            torn = Failures.spool(Problem.TORN, segment.path(), what, null);
        }
        int done = sealed.isEmpty() && cursor != null && cursor.segment() == segment.number()
                ? scan.doneBefore(cursor.offset())
                : 0;
        if (done == segment.items()) {
            Files.delete(segment.path());
            return;
        }
        if (sealed.isEmpty()) reader.moveTo(scan.starts().get(done));
        sealed.add(segment);
        bytes += segment.bytes();
        items += segment.items() - done;
    }

    /** What was cut away from the newest segment; null: nothing. */
    SpoolException torn() {
        return torn;
    }

    /** Why nothing more is appended until all was handed over; null: it is. */
    SpoolException broken() {
        return broken;
    }

    /** Why not all of what was appended last was taken; null: all was. */
    SpoolException full() {
        return full;
    }

    /** How many are left. For any thread. */
    long items() {
        return items;
    }

    /** Everything that is left stands in the segment that is being read. */
    boolean isNearlyEmpty() {
        return active == null && sealed.size() <= 1;
    }

    static byte[] encode(QueueItem item) {
        return SpoolRecord.encode(Items.message(item).toByteArray());
    }

    /** Whether so many bytes fit in now. */
    boolean fits(long size) {
        return bytes + size + title.length <= options.maxBytes();
    }

    /** Whether so many bytes fit into an empty spool. */
    boolean everFits(long size) {
        return size + title.length <= options.maxBytes();
    }

    /**
     * Writes them; they are safe after {@link #sync}. Whoever calls has looked whether they fit.
     *
     * @return how many of the first were written; {@link #full} and {@link #broken} say why not all
     */
    int append(List<byte[]> records) {
        full = null;
        int written = 0;
        try {
            for (byte[] record : records) {
                if (!isRoomFor(record.length)) break;
                active.append(record);
                bytes += record.length;
                items++;
                written++;
            }
        } catch (IOException error) {
            full = Failures.spool(Problem.IO, options.directory(), "cannot be written", error);
            takeBack();
        }
        return written;
    }

    private void takeBack() {
        try {
            if (active != null) active.mend();
        } catch (IOException error) {
            failed(error);
        }
    }

    void sync() {
        if (broken != null) throw broken;
        try {
            if (active != null) active.sync();
        } catch (IOException error) {
            throw failed(error);
        }
    }

    /** All of it was handed over: nothing is uncertain any more. */
    void begin() {
        if (broken == null || items > 0 || active != null) return;
        broken = null;
        hasRagged = true;
    }

    /** The next items, at least one; null: there are none. They stay until {@link #advance}. */
    SpoolReader.Chunk read(int most, int mostBytes) {
        if (sealed.isEmpty()) seal();
        SpoolSegment segment = sealed.peek();
        return segment == null ? null : reader.read(segment, most, mostBytes);
    }

    /**
     * These items, the last that were read, are done with, also when this throws.
     *
     * @throws SpoolException when their file cannot be removed, which is tried again
     */
    void advance(SpoolReader.Chunk chunk) {
        SpoolSegment segment = sealed.element();
        reader.moveTo(chunk.end());
        items -= chunk.items().size();
        if (chunk.end() < segment.bytes()) {
            marks.moveCursor(segment.number(), chunk.end());
            return;
        }
        marks.dropCursor();
        sealed.remove();
        bytes -= segment.bytes();
        reader.close();
        gone.add(segment.path());
        removeGone();
    }

    private void removeGone() {
        while (!gone.isEmpty()) {
            Path path = gone.element();
            try {
                Files.deleteIfExists(path);
            } catch (IOException error) {
                throw Failures.spool(Problem.IO, path, "what was handed over cannot be removed", error);
            }
            gone.remove();
        }
    }

    /** Syncs what is not yet, and lets go of the directory. What is left is there for the next start. */
    void close() {
        try {
            if (broken == null) sync();
            removeGone();
        } finally {
            if (active != null) active.sealed();
            lock.release();
        }
    }

    /** False: nothing may be appended any more. */
    private boolean isRoomFor(int size) throws IOException {
        long most = Math.min(LARGEST_SEGMENT, options.maxBytes() / SEGMENTS);
        if (active != null && active.items() > 0 && active.bytes() + size > most) seal();
        if (broken != null) return false;
        if (active != null) return true;
        if (hasRagged) forgetRagged();
        long number = nextNumber;
        marks.use(number);
        nextNumber++;
        hasRagged = true;
        active = SpoolFile.create(disk, options.directory(), number, title);
        hasRagged = false;
        bytes += title.length;
        return true;
    }

    private void forgetRagged() throws IOException {
        try {
            removeGone();
        } catch (SpoolException error) {
            throw new IOException(error.getMessage(), error);
        }
        SpoolDirectory.sync(options.directory());
    }

    /** Nothing is written to the newest segment any more: it may be read. */
    private void seal() {
        if (active == null) return;
        try {
            if (broken == null) active.sync();
        } catch (IOException error) {
            failed(error);
        }
        SpoolSegment segment = active.sealed();
        active = null;
        if (segment.items() > 0) {
            sealed.add(segment);
            return;
        }
        bytes -= segment.bytes();
        gone.add(segment.path());
    }

    private SpoolException failed(IOException error) {
        broken = Failures.spool(Problem.IO, options.directory(), "cannot be written", error);
        return broken;
    }
}
