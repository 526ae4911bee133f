package io.keyturn.client.internal.consume;

import io.keyturn.client.internal.session.ThreadMaker;
import io.keyturn.client.internal.session.Threads;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;

/** Where handlers of a consumer run: in threads of its own, or in those of an executor of the application, which outlives it. */
final class HandlerThreads {
    private final ThreadMaker maker = Threads.maker("keyturn-worker");
    /** Null: the executor is the application's. */
    private final ThreadPoolExecutor own;

    private final Executor executor;

    /** {@code given}: null: none. */
    HandlerThreads(Executor given) {
        own = given == null ? Threads.pool(maker) : null;
        executor = given == null ? own : given;
    }

    /** Throws what the executor throws: then the task has not begun. */
    void execute(Runnable task) {
        executor.execute(task);
    }

    void shutdown() {
        if (own != null) own.shutdown();
    }

    /** Waits until its own threads are gone, for so many ns. */
    boolean awaitEnd(long nanos) throws InterruptedException {
        return own == null || maker.awaitEnd(own, nanos);
    }
}
