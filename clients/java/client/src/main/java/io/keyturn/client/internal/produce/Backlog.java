package io.keyturn.client.internal.produce;

import io.keyturn.client.ProducerFullException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.ProducerSettings;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * What was added and is not settled, in order, bounded in items and bytes: what is on its way, what is admitted, and (with
 * {@code WAIT}) what waits for room, which is bounded by the same again. Guarded by its producer.
 */
final class Backlog {
    /** Entries of one kind with what they take together. */
    private final class Pile {
        final ArrayDeque<Entry> entries = new ArrayDeque<>();
        long bytes;

        /** One that is larger than the bound is taken alone: it would never fit otherwise. */
        boolean fits(int size, int moreItems, long moreBytes) {
            int count = entries.size() + moreItems;
            return count == 0 || (count < options.maxItems() && bytes + moreBytes + size <= options.maxBytes());
        }

        void push(Entry entry) {
            entries.add(entry);
            bytes += entry.size;
        }

        Entry poll() {
            Entry entry = entries.poll();
            if (entry != null) bytes -= entry.size;
            return entry;
        }
    }

    private final ProducerSettings options;
    private final Pile admitted = new Pile();
    private final Pile waiting = new Pile();
    private int onItsWay;
    private long bytesOnTheirWay;

    Backlog(ProducerSettings options) {
        this.options = options;
    }

    /** Admitted and not taken. */
    int length() {
        return admitted.entries.size();
    }

    long bytes() {
        return admitted.bytes;
    }

    /** Everything. */
    int size() {
        return onItsWay + admitted.entries.size() + waiting.entries.size();
    }

    /** Null: nothing waits. */
    Entry first() {
        return admitted.entries.isEmpty() ? waiting.entries.peek() : admitted.entries.peek();
    }

    /** Whether an item that comes now is admitted at once, if it is not large. */
    boolean hasRoom() {
        return waiting.entries.isEmpty() && hasRoomFor(1);
    }

    /** @throws ProducerFullException */
    void add(Entry entry) {
        if (waiting.entries.isEmpty() && hasRoomFor(entry.size)) {
            admitted.push(entry);
            return;
        }
        if (!options.waits() || !waiting.fits(entry.size, 0, 0)) {
            String most = options.maxItems() + " of together " + options.maxBytes() + " bytes";
            throw Failures.producerFull(size() + " items wait to be handed over; allowed are " + most);
        }
        waiting.push(entry);
    }

    /** The first entries, up to count and bytes, at least one if there is one. They count until they are settled. */
    List<Entry> take(int count, int bytes) {
        List<Entry> taken = new ArrayList<>();
        long size = 0;
        while (taken.size() < count && !admitted.entries.isEmpty()) {
            size += admitted.entries.peek().size;
            if (!taken.isEmpty() && size > bytes) break;
            Entry entry = admitted.poll();
            taken.add(entry);
            onItsWay++;
            bytesOnTheirWay += entry.size;
        }
        return taken;
    }

    /** What was taken is done with. */
    void settled(Collection<Entry> entries) {
        onItsWay -= entries.size();
        for (Entry entry : entries) bytesOnTheirWay -= entry.size;
        admit();
    }

    /** Takes out what is not on its way and whose deadline has come. Deadlines come in the order of arrival. */
    List<Entry> expire(long now) {
        List<Entry> expired = new ArrayList<>();
        for (Pile pile : List.of(admitted, waiting)) {
            while (!pile.entries.isEmpty() && pile.entries.peek().deadline <= now) expired.add(pile.poll());
        }
        admit();
        return expired;
    }

    private void admit() {
        while (!waiting.entries.isEmpty() && hasRoomFor(waiting.entries.peek().size)) admitted.push(waiting.poll());
    }

    private boolean hasRoomFor(int size) {
        return admitted.fits(size, onItsWay, bytesOnTheirWay);
    }
}
