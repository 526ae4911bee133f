package io.keyturn.client;

import io.keyturn.client.internal.produce.ProducerLoop;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Checks;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Collects items and hands them over in batches, in the order in which they were added, one batch after another, so that the
 * order of each key holds whatever has to be tried again. Made by {@link Keyturn#producer}. For any thread.
 */
public final class Producer implements AutoCloseable {
    private final Base base;
    private final ProducerLoop loop;

    Producer(Base base, String queue, ProducerOptions options) {
        this.base = base;
        this.loop = new ProducerLoop(base, queue, options.settings);
    }

    void start() {
        loop.start();
    }

    /**
     * Adds an item; it gets an id if it has none.
     *
     * @param item the message
     * @return what the sidecar decided, or that it is safe on disk; fails with {@link ProducerFullException},
     *     {@link ProducerTimeoutException} (it may have been accepted), {@link ProducerClosedException}, {@link KeyturnException} (the
     *     sidecar refused it) or {@link SpoolException}
     */
    public CompletableFuture<ProducerResult> add(QueueItem item) {
        return loop.add(Checks.needed("item", item));
    }

    /**
     * Waits until an item that is added now need not wait for room: at the latest until what is before it has timed out.
     *
     * @throws InterruptedException when the thread is interrupted
     * @throws ProducerClosedException when the producer is closed
     */
    public void ready() throws InterruptedException {
        loop.ready();
    }

    /**
     * How many items were added and are not settled.
     *
     * @return 0: none
     */
    public int pending() {
        return loop.pending();
    }

    /**
     * How many items are on disk, to be handed over.
     *
     * @return 0: none
     */
    public long spooled() {
        return loop.spooled();
    }

    /**
     * Sends what is collected.
     *
     * @return completes when everything that was added before is accepted, refused, or on disk: at the latest after its time-out
     */
    public CompletableFuture<Void> flush() {
        return loop.flush();
    }

    /** {@link #close(Duration)} with the time that the items have. */
    @Override
    public void close() {
        close(null);
    }

    /**
     * Takes nothing more, flushes, and lets go of the spool; what is on disk is handed over after the next start.
     *
     * @param timeout after which what is not handed over is refused with {@link ProducerClosedException}; null: what the items have
     */
    public void close(Duration timeout) {
        if (timeout != null) Checks.within("timeout", timeout, Duration.ZERO, Checks.DAY);
        base.refuseToBlock();
        base.getUninterruptibly(closeLater(timeout));
    }

    CompletableFuture<Void> closeLater(Duration timeout) {
        return loop.close(timeout);
    }

    CompletableFuture<Void> ended() {
        return loop.ended();
    }

    /** Waits until its thread is gone, for so many ms. */
    void awaitThread(long ms) throws InterruptedException {
        loop.awaitThread(ms);
    }
}
