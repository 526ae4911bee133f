package io.keyturn.client.internal.produce;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerResult;
import io.keyturn.client.QueueItem;
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
import io.keyturn.client.internal.words.ProducerSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Brings batches to the sidecar, or to the disk; tries until every item of a batch is settled. Of the producer's thread. */
final class ProducerRoute {
    private final Base base;
    private final String queue;
    private final ProducerSettings options;
    private final Settling producer;
    /** Null: there is none. */
    private final SpoolRoute spool;
    /** The Submit on its way; null: none. */
    private volatile CompletableFuture<Outcome> asked;

    ProducerRoute(Base base, String queue, ProducerSettings options, Settling producer) {
        this.base = base;
        this.queue = queue;
        this.options = options;
        this.producer = producer;
        this.spool = options.spool() == null ? null : new SpoolRoute(base, queue, options, producer);
    }

    void open() {
        if (spool != null) spool.open();
    }

    /** What is due besides batches, without waiting. */
    void work() {
        if (spool != null) spool.work();
    }

    /** When {@link #work} is to be called. */
    long nextAt() {
        return spool == null ? Clock.NEVER : spool.nextAt();
    }

    /** For any thread. */
    long spooled() {
        return spool == null ? 0 : spool.items();
    }

    /** From any thread: nothing more comes. */
    void closing() {
        if (spool != null) spool.closing();
    }

    /** From any thread: no answer is waited for any more. */
    void giveUp() {
        CompletableFuture<Outcome> open = asked;
        if (open != null) open.cancel(true);
    }

    void close() {
        if (spool != null) spool.close();
    }

    /** Settles all of them. */
    void deliver(List<Entry> batch) {
        BackOff backOff = new BackOff();
        int most = batch.size();
        Throwable error = null;
        List<Entry> left = alive(batch, null);
        if (spool != null && spool.unusable() != null) {
            producer.reject(left, spool.unusable());
            return;
        }
        while (!left.isEmpty()) {
            if (spool != null && spool.isInUse()) {
                left = overDisk(left);
                left = alive(left, error);
                continue;
            }
            List<Entry> part = left.subList(0, Math.min(most, left.size()));
            List<Entry> rest = left.subList(part.size(), left.size());
            Outcome handed = handOver(part);
            if (handed instanceof TooMany) {
                most = (part.size() + 1) / 2;
            } else if (handed instanceof Again again) {
                error = again.error();
                if (spool != null && !again.isCancelled()) spool.begin();
                else pause(backOff.next(Failures.retryAfter(error)), left);
            } else {
                left = settle(part, rest, handed);
            }
            left = alive(left, error);
        }
    }

    /** What is left, after what could be done without waiting for the sidecar; waits until more can be done. */
    private List<Entry> overDisk(List<Entry> entries) {
        List<Entry> left = spool.take(entries);
        spool.work();
        if (left.isEmpty() || !spool.isInUse() || left.size() < entries.size()) return left;
        long deadline = left.get(0).deadline;
        producer.pauseUntil(() -> Math.min(spool.nextAt(), deadline));
        return left;
    }

    /** No longer than until the first deadline. */
    private Outcome handOver(List<Entry> part) {
        long left = Math.max(Clock.MS, part.get(0).deadline - Clock.now());
        long patience = spool == null ? CallTerms.GRACE : Clock.nanos(options.spool().patience());
        long timeout = Math.min(Math.min(CallTerms.GRACE, patience), left);
        long waitForRoom = Math.min(HandOver.WAIT_FOR_ROOM, left - timeout);
        List<QueueItem> items = part.stream().map(entry -> entry.item).toList();
        CompletableFuture<Outcome> call =
                HandOver.of(base, queue, items, timeout, waitForRoom, options.durability());
        asked = call;
        if (producer.givenUp() != null) call.cancel(true);
        try {
            return call.join();
        } catch (CancellationException givenUp) {
            return new Again(Failures.cancelled());
        } catch (CompletionException bug) {
            return new Refused(bug.getCause());
        }
    }

    /** What is left to be sent. */
    private List<Entry> settle(List<Entry> part, List<Entry> rest, Outcome handed) {
        if (handed instanceof Answered answered) {
            producer.resolve(part, answered.results().stream()
                    .map(result -> new ProducerResult(result.itemId(), Optional.of(result)))
                    .toList());
            return rest;
        }
        if (handed instanceof SomeRefused some) {
            List<Entry> again = new ArrayList<>();
            for (int at = 0; at < part.size(); at++) {
                KeyturnException error = some.errors().get(at);
                if (error == null) again.add(part.get(at));
                else producer.reject(List.of(part.get(at)), error);
            }
            again.addAll(rest);
            return again;
        }
        producer.reject(part, handed instanceof Refused refused ? refused.error() : Failures.cancelled());
        return rest;
    }

    /** Rejects those whose time is over. */
    private List<Entry> alive(List<Entry> entries, Throwable cause) {
        ProducerClosedException givenUp = producer.givenUp();
        if (givenUp != null) {
            producer.reject(entries, givenUp);
            return List.of();
        }
        long now = Clock.now();
        List<Entry> alive = new ArrayList<>();
        for (Entry entry : entries) {
            if (entry.deadline > now) alive.add(entry);
            else producer.reject(List.of(entry), producer.timedOut(entry, cause));
        }
        return alive;
    }

    /** No longer than until the first deadline. */
    private void pause(long nanos, List<Entry> left) {
        long until = Math.min(Clock.after(Clock.now(), nanos), left.get(0).deadline);
        // What is added meanwhile wakes it, too.
        while (Clock.now() < until && producer.givenUp() == null) producer.pauseUntil(() -> until);
    }
}
