package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Failures;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Calls on their way from any thread into the loop, in order. Those that come together are taken together. */
final class Inbox {
    private final Loop loop;
    private final Callbacks callbacks;
    private final Consumer<WorkerCommand<?, ?>> take;
    private final Runnable afterwards;
    private final ConcurrentLinkedQueue<WorkerCommand<?, ?>> incoming = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean draining = new AtomicBoolean();

    /** {@code afterwards}: once when some were taken that nobody had asked to {@link #drain}. */
    Inbox(Connection connection, Consumer<WorkerCommand<?, ?>> take, Runnable afterwards) {
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.take = take;
        this.afterwards = afterwards;
    }

    /** From any thread. */
    void add(WorkerCommand<?, ?> command) {
        incoming.add(command);
        // What is asked while answers are told is sent together, when all of them are.
        if (callbacks.isCurrent()) callbacks.afterBatch(this::drainLater);
        else drainLater();
    }

    /** In the loop: takes what is there. */
    void drain() {
        draining.set(false);
        for (WorkerCommand<?, ?> next = incoming.poll(); next != null; next = incoming.poll()) take.accept(next);
    }

    private void drainLater() {
        if (!draining.compareAndSet(false, true)) return;
        try {
            loop.execute(() -> {
                drain();
                afterwards.run();
            });
        } catch (RejectedExecutionException closed) {
            for (WorkerCommand<?, ?> left = incoming.poll(); left != null; left = incoming.poll()) {
                left.future.fail(Failures.closed());
            }
        }
    }
}
