package io.keyturn.client.internal.produce;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerResult;
import io.keyturn.client.QueueItem;
import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.SpoolException;
import io.keyturn.client.internal.produce.HandOver.Again;
import io.keyturn.client.internal.produce.HandOver.Answered;
import io.keyturn.client.internal.produce.HandOver.Outcome;
import io.keyturn.client.internal.produce.HandOver.Refused;
import io.keyturn.client.internal.produce.HandOver.SomeRefused;
import io.keyturn.client.internal.produce.HandOver.TooMany;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.ProducerSettings;
import io.keyturn.client.internal.words.SpoolSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The way of items over the disk, while the sidecar cannot be reached, or has no room: what comes is appended, what is oldest is handed
 * over, and nothing passes it. Of the producer's thread: {@link #work} does what is due, and never waits for the sidecar.
 */
final class SpoolRoute {
    private static final int MOST_BYTES = 1_048_576;
    /** Between two looks whether a disk that was full takes items again. */
    private static final long FULL = 250 * Clock.MS;

    private final Base base;
    private final String queue;
    private final ProducerSettings options;
    private final SpoolSettings choice;
    private final Settling producer;
    private final BackOff backOff = new BackOff();
    /** Written and not synced yet. */
    private final List<Entry> unsynced = new ArrayList<>();

    /** Why the directory cannot be used; null: it can. */
    private SpoolException unusable;

    private Spool spool;
    private boolean inUse;
    /** The last Submit from disk came through. */
    private boolean isReachable;

    private volatile boolean closing;
    private long syncAt = Clock.NEVER;
    /** When the next Submit from disk may be sent. */
    private long tryAt;
    /** What is being handed over, from disk; null: nothing. */
    private SpoolReader.Chunk chunk;

    private List<QueueItem> left = List.of();
    private int most = Items.MOST;
    private CompletableFuture<Outcome> asked;
    private String told = "";
    /** Why what is on disk cannot be read: nothing may pass it, and nothing of it is skipped. Null: it can. */
    private SpoolException stuck;
    /** When a disk that took nothing is tried again. */
    private long appendAt;

    SpoolRoute(Base base, String queue, ProducerSettings options, Settling producer) {
        this.base = base;
        this.queue = queue;
        this.options = options;
        this.choice = options.spool();
        this.producer = producer;
    }

    void open() {
        try {
            spool = new Spool(choice, queue);
            if (spool.torn() != null) producer.tellTrouble(spool.torn(), null);
            inUse = spool.items() > 0;
        } catch (RuntimeException error) {
            // Whatever a path or a file system does: those who add items are told, nobody waits for ever.
            unusable = error instanceof SpoolException known
                    ? known
                    : Failures.spool(Problem.IO, choice.directory(), "cannot be used", error);
            producer.tellTrouble(unusable, null);
        }
    }

    /** Null: it can be used. */
    SpoolException unusable() {
        return unusable;
    }

    long items() {
        Spool open = spool;
        return open == null ? 0 : open.items();
    }

    /** Items must not be sent past those on disk. */
    boolean isInUse() {
        return inUse;
    }

    /** The sidecar cannot be reached, or has no room: what comes goes to disk, until all of it was handed over. */
    void begin() {
        isReachable = false;
        inUse = true;
        tryAt = Clock.after(Clock.now(), backOff.next(0));
    }

    /** The producer takes nothing more: what is left goes to disk if it cannot be sent at once. */
    void closing() {
        closing = true;
    }

    /** When {@link #work} is to be called. */
    long nextAt() {
        long next = syncAt;
        if (spool != null && spool.full() != null) next = Math.min(next, appendAt);
        if (inUse && asked == null && stuck == null) next = Math.min(next, tryAt);
        return asked != null && asked.isDone() ? 0 : next;
    }

    /** Takes from the first entries as many as there is room for. What is left, in order. */
    List<Entry> take(List<Entry> entries) {
        // So near to the end nothing more is put behind: it would never come, with new items all the time.
        boolean isEnding = isReachable && spool.isNearlyEmpty() && !closing;
        if (stuck != null) {
            producer.reject(entries, stuck);
            return List.of();
        }
        if (isEnding || spool.broken() != null || (spool.full() != null && Clock.now() < appendAt)) return entries;
        List<byte[]> records = new ArrayList<>();
        List<Entry> taken = new ArrayList<>();
        long size = 0;
        int at = 0;
        for (; at < entries.size(); at++) {
            Entry entry = entries.get(at);
            byte[] record = Spool.encode(entry.item);
            if (!spool.everFits(record.length)) {
                producer.reject(List.of(entry), tooLarge(entry, record.length));
                continue;
            }
            if (!spool.fits(size + record.length)) break;
            size += record.length;
            taken.add(entry);
            records.add(record);
        }
        List<Entry> left = new ArrayList<>(taken.subList(append(taken, records), taken.size()));
        left.addAll(entries.subList(at, entries.size()));
        return left;
    }

    /** How many of them were written: a disk that is full is as a spool that is full, so the others wait. */
    private int append(List<Entry> taken, List<byte[]> records) {
        if (taken.isEmpty()) return 0;
        boolean wasFull = spool.full() != null;
        int written = spool.append(records);
        unsynced.addAll(taken.subList(0, written));
        if (spool.full() != null) {
            appendAt = Clock.after(Clock.now(), FULL);
            if (!wasFull) producer.tellTrouble(spool.full(), null);
        }
        if (spool.broken() != null || unsynced.size() >= choice.count()) sync();
        else if (written > 0 && syncAt == Clock.NEVER) syncAt = Clock.after(Clock.now(), Clock.nanos(choice.interval()));
        return written;
    }

    private SpoolException tooLarge(Entry entry, int size) {
        String what = "item " + entry.item.itemId() + " takes " + size + " bytes, maxBytes is " + choice.maxBytes();
        return Failures.spool(Problem.TOO_LARGE, choice.directory(), what, null);
    }

    private void sync() {
        syncAt = Clock.NEVER;
        if (unsynced.isEmpty()) return;
        List<Entry> safe = List.copyOf(unsynced);
        unsynced.clear();
        try {
            spool.sync();
            producer.resolve(safe, safe.stream()
                    .map(entry -> new ProducerResult(entry.item.itemId(), Optional.empty()))
                    .toList());
        } catch (SpoolException error) {
            producer.reject(safe, error);
        }
    }

    /** Does what is due, without waiting. */
    void work() {
        if (spool == null) return;
        long now = Clock.now();
        if (now >= syncAt) sync();
        if (!inUse || stuck != null) return;
        try {
            if (asked != null && asked.isDone()) heard(asked.join());
            if (asked == null && now >= tryAt) handOver();
        } catch (SpoolException error) {
            isReachable = false;
            tellOnce(error);
            // A file that cannot be read now may be later. What is damaged stays so.
            if (error.problem() == Problem.IO) tryAt = Clock.after(Clock.now(), backOff.next(0));
            else stuck = error;
        }
    }

    private void tellOnce(Throwable error) {
        String what = Failures.messageOf(error);
        if (!what.equals(told)) producer.tellTrouble(error, null);
        told = what;
    }

    /** What was handed over is done with, whether it can be removed or not. */
    private void advance() {
        SpoolReader.Chunk done = chunk;
        chunk = null;
        try {
            spool.advance(done);
        } catch (SpoolException error) {
            tellOnce(error);
        }
    }

    private void handOver() {
        if (left.isEmpty() && !next()) return;
        List<QueueItem> part = left.subList(0, Math.min(most, left.size()));
        asked = HandOver.of(base, queue, part, CallTerms.GRACE, HandOver.WAIT_FOR_ROOM, options.durability());
        asked.whenComplete((outcome, error) -> producer.wake());
    }

    /** The next items from disk. False: there are none, and the sidecar is asked directly again. */
    private boolean next() {
        if (chunk != null) advance();
        // Those that are not synced yet are read too; who added them hears of the disk first.
        if (spool.isNearlyEmpty() || spool.items() == 0) sync();
        chunk = spool.read(Items.MOST, MOST_BYTES);
        if (chunk == null) {
            spool.begin();
            inUse = false;
            return false;
        }
        left = chunk.items();
        most = left.size();
        return true;
    }

    private void heard(Outcome outcome) {
        asked = null;
        int sent = Math.min(most, left.size());
        if (outcome instanceof Answered) {
            left = left.subList(sent, left.size());
        } else if (outcome instanceof SomeRefused some) {
            left = without(some);
        } else if (outcome instanceof TooMany) {
            most = (sent + 1) / 2;
        } else {
            failed(outcome);
            return;
        }
        isReachable = true;
        backOff.reset();
        told = "";
        tryAt = 0;
        if (left.isEmpty() && chunk != null) advance();
    }

    private void failed(Outcome outcome) {
        Throwable error = outcome instanceof Again again ? again.error() : ((Refused) outcome).error();
        isReachable = false;
        // It is nothing about the items, so they are kept until somebody has put it right; it is told once.
        if (outcome instanceof Refused) tellOnce(error);
        else told = Failures.messageOf(error);
        tryAt = Clock.after(Clock.now(), backOff.next(Failures.retryAfter(error)));
    }

    private List<QueueItem> without(SomeRefused some) {
        List<QueueItem> kept = new ArrayList<>();
        for (int at = 0; at < left.size(); at++) {
            KeyturnException error = some.errors().get(at);
            if (error == null) kept.add(left.get(at));
            else producer.tellTrouble(error, left.get(at));
        }
        return kept;
    }

    /** What is not handed over stays on disk. */
    void close() {
        if (spool == null) return;
        sync();
        if (asked != null) asked.cancel(true);
        try {
            spool.close();
        } catch (SpoolException error) {
            producer.tellTrouble(error, null);
        }
    }
}
