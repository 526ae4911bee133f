package io.keyturn.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The answer of a call. Cancelling it ends the call, not only the waiting. */
final class CallFuture<A> extends CompletableFuture<A> {
    private volatile Runnable onCancel = () -> {};

    void onCancel(Runnable task) {
        onCancel = task;
        if (isCancelled()) task.run();
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        if (cancelled) onCancel.run();
        return cancelled;
    }

    /** Waits for its end, whatever that is, for so many ns. */
    void awaitQuietly(long nanos) {
        CountDownLatch ended = new CountDownLatch(1);
        whenComplete((answer, error) -> ended.countDown());
        Threads.uninterruptibly(() -> ended.await(nanos, TimeUnit.NANOSECONDS));
    }

    static <A> CallFuture<A> failed(Throwable error) {
        CallFuture<A> future = new CallFuture<>();
        future.completeExceptionally(error);
        return future;
    }
}
