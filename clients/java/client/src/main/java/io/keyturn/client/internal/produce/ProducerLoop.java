package io.keyturn.client.internal.produce;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerResult;
import io.keyturn.client.ProducerTimeoutException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.session.ThreadMaker;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.ProducerSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.LongSupplier;

/** Collects items and has them handed over, one batch after another, by a thread of its own. For any thread. */
public final class ProducerLoop implements Settling {
    private static final long LONGEST_PAUSE_MS = 60_000;

    private final Base base;
    private final ProducerSettings options;
    private final Backlog backlog;
    private final Set<CompletableFuture<ProducerResult>> unsettled = ConcurrentHashMap.newKeySet();
    private final Thread thread;
    private final ProducerRoute delivery;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private int flushing;
    private volatile boolean closed;
    private ScheduledFuture<?> expiry;
    private volatile ProducerClosedException givenUp;

    public ProducerLoop(Base base, String queue, ProducerSettings options) {
        this.base = base;
        this.options = options;
        this.backlog = new Backlog(options);
        String name = options.spool() == null ? Checks.text("queue", queue) : Items.queue(queue);
        this.delivery = new ProducerRoute(base, name, options, this);
        this.thread = ThreadMaker.daemon(this::run, "keyturn-producer");
    }

    public void start() {
        thread.start();
    }

    public CompletableFuture<ProducerResult> add(QueueItem item) {
        Entry entry = new Entry(base.named(item), Clock.nanos(options.timeout()));
        if (options.spool() != null) {
            // Told "spooled", what no sidecar accepts would be lost.
            KeyturnException wrong = Items.refusal(entry.item, 0);
            if (wrong != null) return CallFuture.failed(wrong);
        }
        try {
            Items.checkSize(entry.item, 0);
            synchronized (this) {
                if (closed) throw Failures.producerClosed("the producer is closed");
                unsettled.add(entry.future);
                backlog.add(entry);
                armExpiry();
                notifyAll();
            }
        } catch (RuntimeException refused) {
            fail(entry, refused);
        }
        return entry.future;
    }

    /** Waits until an item that is added now need not wait for room. */
    public synchronized void ready() throws InterruptedException {
        base.refuseToBlock();
        while (!closed && !backlog.hasRoom()) wait();
        if (closed) throw Failures.producerClosed("the producer is closed");
    }

    public int pending() {
        return unsettled.size();
    }

    public long spooled() {
        return delivery.spooled();
    }

    /** Completes when everything that was added before is settled. */
    public CompletableFuture<Void> flush() {
        CompletableFuture<?>[] all = unsettled.toArray(CompletableFuture<?>[]::new);
        synchronized (this) {
            flushing++;
            notifyAll();
        }
        return CompletableFuture.allOf(all).handle((nothing, error) -> {
            synchronized (this) {
                flushing--;
            }
            return null;
        });
    }

    /** {@code timeout}: null: what the items have. */
    public CompletableFuture<Void> close(Duration timeout) {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        delivery.closing();
        ScheduledFuture<?> late = timeout == null ? null : base.after(Clock.nanos(timeout), this::giveUp);
        if (late != null) ended.whenComplete((nothing, error) -> late.cancel(false));
        return ended;
    }

    public CompletableFuture<Void> ended() {
        return ended;
    }

    private void giveUp() {
        givenUp = Failures.producerClosed("the producer was closed");
        List<Entry> left;
        synchronized (this) {
            left = backlog.expire(Clock.NEVER);
            notifyAll();
        }
        failLater(left, givenUp);
        // Not by an interrupt: that would close the files of the spool.
        delivery.giveUp();
        wake();
    }

    @Override
    public ProducerClosedException givenUp() {
        return givenUp;
    }

    private void run() {
        try {
            delivery.open();
            List<Entry> batch = next();
            while (batch != null) {
                if (!batch.isEmpty()) delivery.deliver(batch);
                delivery.work();
                batch = next();
            }
        } finally {
            delivery.close();
            synchronized (this) {
                if (expiry != null) expiry.cancel(false);
            }
            base.callbacks.execute(() -> ended.complete(null));
        }
    }

    /** Waits for a batch that is due. Empty: there is other work; null: it is closed, and nothing is left. */
    private synchronized List<Entry> next() {
        while (true) {
            Entry first = backlog.first();
            if (first == null && closed && unsettled.isEmpty()) return null;
            long due = first == null ? Clock.NEVER : Clock.after(first.since, Clock.nanos(options.interval()));
            boolean isDue = backlog.length() >= options.count()
                    || backlog.bytes() >= Items.LARGEST_MESSAGE
                    || flushing > 0
                    || closed
                    || due <= Clock.now();
            if (backlog.length() > 0 && isDue) return backlog.take(options.count(), Items.LARGEST_MESSAGE);
            if (delivery.nextAt() <= Clock.now()) return List.of();
            pauseUntil(() -> Math.min(due, delivery.nextAt()));
        }
    }

    @Override
    public synchronized void pauseUntil(LongSupplier at) {
        // Looked at under the lock, under which it is told that something changed.
        long nanos = at.getAsLong() - Clock.now();
        try {
            if (nanos > 0) wait(Math.min(LONGEST_PAUSE_MS, nanos / Clock.MS + 1));
        } catch (InterruptedException nobodyInterruptsIt) {
            throw new IllegalStateException(nobodyInterruptsIt);
        }
    }

    @Override
    public synchronized void wake() {
        notifyAll();
    }

    private void tellError(Throwable error, QueueItem item) {
        try {
            options.onError().accept(Failures.unwrapped(error), item);
        } catch (Throwable thrown) {
            base.logger.log(System.Logger.Level.WARNING, "the error listener of a producer threw", thrown);
        }
    }

    @Override
    public void tellTrouble(Throwable error, QueueItem item) {
        base.callbacks.execute(() -> tellError(error, item));
    }

    /** Told by the thread for that: what is hung on a future must not keep this one from its work, nor wait for it. */
    @Override
    public void resolve(List<Entry> entries, List<ProducerResult> results) {
        settled(entries);
        for (Entry entry : entries) unsettled.remove(entry.future);
        base.callbacks.execute(() -> {
            for (int at = 0; at < entries.size(); at++) entries.get(at).future.tell(results.get(at));
        });
    }

    @Override
    public void reject(Collection<Entry> entries, Throwable error) {
        settled(entries);
        failLater(entries, error);
    }

    private void failLater(Collection<Entry> entries, Throwable error) {
        List<Entry> told = List.copyOf(entries);
        base.callbacks.execute(() -> {
            for (Entry entry : told) fail(entry, error);
        });
    }

    /** It counts no more before anybody is told. */
    private void fail(Entry entry, Throwable error) {
        unsettled.remove(entry.future);
        tellError(error, entry.item);
        entry.future.fail(error);
        if (closed) wake();
    }

    private synchronized void settled(Collection<Entry> entries) {
        backlog.settled(entries);
        notifyAll();
    }

    /** Of those that are not on their way: whoever sends looks after the others. */
    private void armExpiry() {
        Entry first = backlog.first();
        if (expiry != null || first == null) return;
        expiry = base.after(Math.max(Clock.MS, first.deadline - Clock.now()), this::expire);
    }

    private void expire() {
        List<Entry> expired;
        synchronized (this) {
            expiry = null;
            expired = new ArrayList<>(backlog.expire(Clock.now()));
            armExpiry();
            notifyAll();
        }
        base.callbacks.execute(() -> {
            for (Entry entry : expired) fail(entry, timedOut(entry, null));
        });
    }

    @Override
    public ProducerTimeoutException timedOut(Entry entry, Throwable cause) {
        return Failures.producerTimeout(entry.item.itemId(), options.timeout(), cause);
    }

    /** Waits until its thread is gone, for so many ms. */
    public void awaitThread(long ms) throws InterruptedException {
        thread.join(ms);
    }
}
