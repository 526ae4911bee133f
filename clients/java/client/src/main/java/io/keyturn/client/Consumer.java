package io.keyturn.client;

import io.keyturn.client.internal.consume.ConsumerLoop;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Checks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Workers of queues' items, made by {@link Keyturn#consume}. There are never more handlers at once than {@code concurrency}; the
 * place of one is free as soon as what it came to was sent. A connection that breaks does not end a consumer. For any thread.
 */
public final class Consumer implements AutoCloseable {
    private final Base base;
    private final ConsumerLoop loop;

    Consumer(Base base, List<String> queues, WorkHandler handler, ConsumerOptions options) {
        this.base = base;
        WorkHandlers handlers = new WorkHandlers(Checks.needed("the handler", handler), options.onError);
        this.loop = new ConsumerLoop(base, queues, options.settings, handlers);
    }

    void start() {
        loop.start();
    }

    /**
     * Completes when it has stopped. Fails, after what runs has ended, when it cannot go on: the sidecar refuses its Acquire (a bad
     * name, no permission).
     *
     * @return a future of its end
     */
    public CompletableFuture<Void> done() {
        return loop.done();
    }

    /**
     * How many handlers run now.
     *
     * @return at most the concurrency
     */
    public int running() {
        return loop.running();
    }

    /**
     * Stops with 20 s for handlers that run, and waits for it.
     *
     * @throws ConsumerStoppedException when handlers were cut off: they had no time to end
     * @throws KeyturnException FAILED_PRECONDITION in one of its handlers, which would wait for itself: use {@link #stop}
     */
    @Override
    public void close() {
        loop.refuseToWait();
        base.getUninterruptibly(stop(ConsumerLoop.DEFAULT_STOP));
    }

    /**
     * Takes no more turns, lets handlers finish, releases what was delivered and not started. After the time-out handlers are
     * interrupted, and their turns are released; it ends at the latest three seconds after that, also if a handler does not.
     *
     * @param timeout up to 24 h; of several stops the shortest counts
     * @return completes when nothing runs; fails with a {@link ConsumerStoppedException} when handlers were cut off
     */
    public CompletableFuture<Void> stop(Duration timeout) {
        return loop.stop(Checks.within("timeout", timeout, Duration.ZERO, Checks.DAY)).thenAccept(cutOff -> {
            if (cutOff > 0) throw new ConsumerStoppedException(cutOff);
        });
    }

    /** Waits until its threads are gone, for so many ns. */
    boolean awaitThreads(long nanos) throws InterruptedException {
        return loop.awaitThreads(nanos);
    }
}
