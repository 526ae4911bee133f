package io.keyturn.client.internal.produce;

import io.keyturn.client.QueueItem;
import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.internal.words.Failures;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/** How far the oldest segment of a spool is read. */
final class SpoolReader {
    /** Items in the order in which they were appended. {@code end}: where the segment is read on after them. */
    record Chunk(List<QueueItem> items, int end) {}

    /** Null: it is not read yet. */
    private byte[] bytes;
    /** 0: behind its title. */
    private int at;

    void moveTo(int offset) {
        at = offset;
    }

    /** Another segment is the oldest. */
    void close() {
        bytes = null;
        at = 0;
    }

    /** The next items, at least one. */
    Chunk read(SpoolSegment segment, int most, int mostBytes) {
        open(segment);
        List<QueueItem> found = new ArrayList<>();
        int offset = at;
        int size = 0;
        while (found.size() < most && offset < segment.bytes()) {
            byte[] body = SpoolRecord.at(bytes, offset);
            if (body == null) {
                throw Failures.spool(Problem.DAMAGED, segment.path(), "damaged at byte " + offset, null);
            }
            if (!found.isEmpty() && size + body.length > mostBytes) break;
            found.add(SpoolSegment.item(segment.path(), offset, body));
            size += body.length;
            offset += SpoolRecord.HEADER + body.length;
        }
        return new Chunk(found, offset);
    }

    private void open(SpoolSegment segment) {
        if (bytes != null) return;
        try {
            bytes = Files.readAllBytes(segment.path());
        } catch (IOException error) {
            throw Failures.spool(Problem.IO, segment.path(), "cannot be read", error);
        }
        if (at == 0) at = SpoolRecord.HEADER + Math.max(0, SpoolRecord.lengthAt(bytes, 0));
    }
}
