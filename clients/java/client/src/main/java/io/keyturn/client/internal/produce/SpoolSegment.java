package io.keyturn.client.internal.produce;

import com.google.protobuf.InvalidProtocolBufferException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A file of records that is only appended to. The first record says whose items follow: {@code keyturn-java-spool 1 <queue>}; each
 * of the others is an item as the proto has it.
 */
record SpoolSegment(long number, Path path, int bytes, int items) {
    private static final String TITLE = "keyturn-java-spool 1 ";
    private static final Pattern NAME = Pattern.compile("(\\d{10})\\.spool");

    /** What was found in a segment. {@code torn}: how many bytes after the last record are of one that was cut off. */
    record Scan(SpoolSegment segment, List<Integer> starts, int torn) {
        /** How many items stand before the offset; 0 where no record begins there: then it says nothing. */
        int doneBefore(long offset) {
            for (int at = 0; at < starts.size(); at++) if (starts.get(at) == offset) return at;
            return 0;
        }
    }

    static Path path(Path directory, long number) {
        return directory.resolve(String.format("%010d.spool", number));
    }

    /** Negative when the file is no segment. */
    static long numberOf(Path path) {
        Matcher found = NAME.matcher(path.getFileName().toString());
        return found.matches() ? Long.parseLong(found.group(1)) : -1;
    }

    static byte[] title(String queue) {
        return SpoolRecord.encode((TITLE + queue).getBytes(StandardCharsets.UTF_8));
    }

    /** Of all segments of a directory, from the oldest. */
    static List<Scan> scanAll(Path directory, String queue) throws IOException {
        List<Path> paths;
        try (Stream<Path> files = Files.list(directory)) {
            paths = files.filter(path -> numberOf(path) >= 0).sorted().toList();
        }
        List<Scan> scans = new ArrayList<>();
        for (Path path : paths) scans.add(scan(path, queue, scans.size() == paths.size() - 1));
        return scans;
    }

    /**
     * Reads through a segment. A record that is cut off at the end is what a process leaves behind that is killed; anything else that
     * cannot be read is damage, and is never skipped.
     *
     * @param isLast only the segment that was written last can have been cut off
     */
    private static Scan scan(Path path, String queue, boolean isLast) throws IOException {
        byte[] bytes = Files.readAllBytes(path);
        byte[] title = SpoolRecord.at(bytes, 0);
        List<Integer> starts = new ArrayList<>();
        int offset = 0;
        if (title != null) {
            checkTitle(path, title, queue);
            offset = SpoolRecord.HEADER + title.length;
            starts.add(offset);
            for (int length = SpoolRecord.lengthAt(bytes, offset); length >= 0; length = SpoolRecord.lengthAt(bytes, offset)) {
                offset += SpoolRecord.HEADER + length;
                starts.add(offset);
            }
        }
        int torn = bytes.length - offset;
        if (torn > 0 && (!isLast || SpoolRecord.isAnyFrom(bytes, offset + 1))) {
            String what = "damaged at byte " + offset + " of " + bytes.length;
            throw Failures.spool(
                    Problem.DAMAGED, path, what + "; nothing of it was used. Move the file away, or mend it", null);
        }
        int items = Math.max(0, starts.size() - 1);
        return new Scan(new SpoolSegment(numberOf(path), path, offset, items), starts, torn);
    }

    private static void checkTitle(Path path, byte[] title, String queue) {
        String text = new String(title, StandardCharsets.UTF_8);
        if (!text.startsWith(TITLE)) {
            throw Failures.spool(Problem.DAMAGED, path, "its first record is not that of a spool of this client", null);
        }
        String other = text.substring(TITLE.length());
        if (other.equals(queue)) return;
        String what = "it has items of queue " + other + ", this producer is for " + queue;
        throw Failures.spool(Problem.OTHER_QUEUE, path, what + "; each needs a directory of its own", null);
    }

    static QueueItem item(Path path, int offset, byte[] body) {
        try {
            return Items.of(io.keyturn.v1.NewItem.parseFrom(body));
        } catch (InvalidProtocolBufferException foreign) {
            throw Failures.spool(Problem.DAMAGED, path, "the record at byte " + offset + " is no item", foreign);
        }
    }
}
