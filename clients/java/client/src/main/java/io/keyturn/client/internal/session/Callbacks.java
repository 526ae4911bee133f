package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.internal.words.Failures;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The thread that completes futures and so runs what the application hangs on them. The answers of one message are handed
 * over together; what is asked in return is sent together, when all of them are told.
 */
public final class Callbacks {
    private final ThreadPoolExecutor executor;
    private final Logger logger;
    private final ThreadMaker maker = new ThreadMaker(() -> "keyturn-callbacks");
    private volatile Thread thread;
    /** Of the loop's thread. */
    private List<Runnable> batch = new ArrayList<>();
    /** Of the callbacks' thread: to be done once when the batch is. */
    private Runnable afterBatch;

    Callbacks(Logger logger) {
        this.logger = logger;
        // What waits here is bounded by the calls that are open.
        executor = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread made = maker.newThread(task);
            thread = made;
            return made;
        });
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /** A thread that tells answers must not wait for one. */
    public void refuseToBlock() {
        if (!isCurrent()) return;
        throw Failures.of(
                "a call that blocks was made by the thread that completes futures; use an *Async stage for it",
                Status.Code.FAILED_PRECONDITION);
    }

    /** In the loop: with the next {@link #flush}. */
    void add(Runnable task) {
        batch.add(task);
    }

    /** In the loop. */
    void flush() {
        if (batch.isEmpty()) return;
        List<Runnable> tasks = batch;
        batch = new ArrayList<>();
        execute(() -> runAll(tasks));
    }

    /** From any thread. */
    public void execute(Runnable task) {
        try {
            executor.execute(() -> {
                run(task);
                runAfterBatch();
            });
        } catch (RejectedExecutionException closed) {
            run(task);
        }
    }

    /** In its own thread: once, when everything that came with what runs now has run. */
    void afterBatch(Runnable task) {
        afterBatch = task;
    }

    void shutdown() {
        executor.shutdown();
    }

    boolean awaitEnd(long nanos) throws InterruptedException {
        return isCurrent() || maker.awaitEnd(executor, nanos);
    }

    private void runAll(List<Runnable> tasks) {
        for (Runnable task : tasks) run(task);
    }

    private void runAfterBatch() {
        Runnable after = afterBatch;
        afterBatch = null;
        if (after != null) run(after);
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable thrown) {
            // Whatever it is: others of the same message wait for their answers.
            logger.log(Level.WARNING, "what was called back threw", thrown);
        }
    }
}
