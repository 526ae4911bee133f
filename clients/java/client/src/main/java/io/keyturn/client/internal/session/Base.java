package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Metrics;
import io.keyturn.client.QueueItem;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.Tracing;
import java.lang.System.Logger;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

/** What everything above the raw calls stands on. */
public final class Base {
    public final Transport transport;
    final Loop loop;
    public final Callbacks callbacks;
    public final Supplier<String> newId;
    public final Logger logger;
    public final Metrics metrics;
    /** Where the sidecar is. */
    public final String address;
    public final Tracing tracing;
    /** Settles are ordered by the session, before what is asked after them. */
    public final boolean isOrdered;

    private final Set<CallFuture<?>> pending = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    public Base(Transport transport, Connection connection, Supplier<String> newId, ClientSettings options, Tracing tracing) {
        this.transport = transport;
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.newId = newId;
        this.logger = options.logger();
        this.metrics = options.metrics();
        this.address = connection.address();
        this.isOrdered = !options.isUnary();
        this.tracing = tracing;
    }

    /** With an id, the same on every try, and with the context of the thread that hands it over. */
    public QueueItem named(QueueItem item) {
        return tracing.stamped(Items.named(item, newId));
    }

    /** A future of something that may wait for time to pass: it fails when the client is closed. */
    public <A> CallFuture<A> pending() {
        CallFuture<A> future = new CallFuture<>();
        pending.add(future);
        future.whenComplete((answer, error) -> pending.remove(future));
        if (closed) future.fail(Failures.closed());
        return future;
    }

    /** Runs it in the loop after so many ns; not when the client is closed before. */
    public ScheduledFuture<?> after(long nanos, Runnable task) {
        try {
            return loop.after(nanos, task);
        } catch (RejectedExecutionException tooLate) {
            return null;
        }
    }

    /** A callback in a thread by which answers come must not wait for one. */
    public void refuseToBlock() {
        callbacks.refuseToBlock();
        if (!loop.isCurrent()) return;
        throw Failures.of(
                "a call that blocks was made in a callback by the thread of the session; let another thread do that",
                Status.Code.FAILED_PRECONDITION);
    }

    /** Runs it in the loop, unless that has ended. */
    public void inLoop(Runnable task) {
        loop.tell(task);
    }

    public void close() {
        closed = true;
        for (CallFuture<?> future : pending) future.fail(Failures.closed());
    }

    /**
     * Waits for an answer. An interrupt ends the call too, and stays set.
     *
     * @throws KeyturnException when it failed
     */
    public <A> A get(CompletableFuture<A> future) {
        refuseToBlock();
        try {
            return future.get();
        } catch (InterruptedException interrupt) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            // It was there in the same moment: thrown away it might be a turn that nobody ends.
            if (future.isDone() && !future.isCompletedExceptionally()) return future.join();
            KeyturnException error = Failures.cancelled();
            error.initCause(interrupt);
            throw error;
        } catch (CancellationException cancelled) {
            throw Failures.cancelled();
        } catch (ExecutionException failed) {
            throw rethrown(failed.getCause());
        }
    }

    /** The same for what must be done though the thread was told to stop: every call ends by its time-out. */
    public <A> A getUninterruptibly(CompletableFuture<A> future) {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    refuseToBlock();
                    return future.get();
                } catch (InterruptedException again) {
                    interrupted = true;
                } catch (CancellationException cancelled) {
                    throw Failures.cancelled();
                } catch (ExecutionException failed) {
                    throw rethrown(failed.getCause());
                }
            }
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    /** With the stack of the one who waits, not of the thread that heard it. */
    private static RuntimeException rethrown(Throwable error) {
        if (error instanceof Error thrown) throw thrown;
        if (!(error instanceof RuntimeException known)) return KeyturnException.of(error);
        // What a stage of the application threw says where it was thrown.
        if (known instanceof KeyturnException) known.fillInStackTrace();
        return known;
    }
}
