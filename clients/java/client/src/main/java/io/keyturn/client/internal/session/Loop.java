package io.keyturn.client.internal.session;

import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one thread of a client that owns its state: what the transport hears, what time brings and what is asked is worked on here,
 * one after another. No code of the application runs in it, so that nothing keeps it from telling in time that a turn is lost.
 */
final class Loop implements Executor {
    private final ScheduledThreadPoolExecutor executor;
    private final Logger logger;
    private final ThreadMaker maker = new ThreadMaker(() -> "keyturn-session");
    private volatile Thread thread;

    Loop(Logger logger) {
        this.logger = logger;
        executor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread made = maker.newThread(task);
            thread = made;
            return made;
        });
        executor.setRemoveOnCancelPolicy(true);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** @throws RejectedExecutionException after its end */
    @Override
    public void execute(Runnable task) {
        executor.execute(() -> run(task));
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /** Runs it, unless the loop has ended. */
    void tell(Runnable task) {
        try {
            execute(task);
        } catch (RejectedExecutionException closed) {
            // Nothing of what it would change is left.
            return;
        }
    }

    /** Runs it once, not before so many ns have passed. */
    ScheduledFuture<?> after(long nanos, Runnable task) {
        return executor.schedule(() -> run(task), Math.max(0, nanos), TimeUnit.NANOSECONDS);
    }

    /** Tasks that wait for their time are forgotten; those that are ready run. */
    void shutdown() {
        executor.shutdown();
    }

    boolean awaitEnd(long nanos) throws InterruptedException {
        return maker.awaitEnd(executor, nanos);
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable bug) {
            // The executor would keep it to itself.
            logger.log(Level.ERROR, "a task of the session failed", bug);
        }
    }
}
