package io.keyturn.client.internal.session;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The answer of a call. The client ends it by {@link #tell} and {@link #fail}. Whoever else ends it, by {@code cancel},
 * {@code orTimeout} or {@code complete}, ends the call, not only the waiting.
 */
public final class CallFuture<A> extends CompletableFuture<A> {
    private volatile Runnable onCancel = () -> {};
    private volatile Consumer<A> onUntold = answer -> {};
    private volatile boolean isGivenUp;

    /** What ends the call when nobody waits for it any more; it may run twice. */
    public void onCancel(Runnable task) {
        onCancel = task;
        if (isGivenUp) task.run();
    }

    /** What becomes of an answer that came when nobody waited for it any more. */
    void onUntold(Consumer<A> task) {
        onUntold = task;
    }

    public void tell(A answer) {
        if (!super.complete(answer)) untold(answer);
    }

    public void fail(Throwable error) {
        super.completeExceptionally(error);
    }

    /** The answer was told to somebody here who could not hand it on. */
    void untold(A answer) {
        onUntold.accept(answer);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        return givenUp(super.cancel(mayInterruptIfRunning));
    }

    @Override
    public boolean complete(A value) {
        return givenUp(super.complete(value));
    }

    @Override
    public boolean completeExceptionally(Throwable error) {
        return givenUp(super.completeExceptionally(error));
    }

    private boolean givenUp(boolean isEnded) {
        if (isEnded) {
            isGivenUp = true;
            onCancel.run();
        }
        return isEnded;
    }

    /** Waits for its end, whatever that is, for so many ns. */
    public void awaitQuietly(long nanos) {
        CountDownLatch ended = new CountDownLatch(1);
        whenComplete((answer, error) -> ended.countDown());
        Threads.uninterruptibly(() -> ended.await(nanos, TimeUnit.NANOSECONDS));
    }

    public static <A> CallFuture<A> failed(Throwable error) {
        CallFuture<A> future = new CallFuture<>();
        future.fail(error);
        return future;
    }
}
