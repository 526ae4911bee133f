package io.keyturn.client.internal.consume;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TurnRequests;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.ScheduledFuture;

/** How the taking of turns goes, for the log: its first failure, and its recovery. For any thread. */
final class TakingLog {
    private static final String CANNOT_REACH = "cannot reach ";
    /**
     * How often it is looked whether the sidecar can be reached: an Acquire waits for a connection as long as it waits for work. The
     * second look in vain is logged: a stream that comes back at once is no trouble.
     */
    private static final long LOOK_EVERY = 750 * Clock.MS;

    private final Base base;
    private final List<String> queues;
    /** No Acquire was answered since one failed, or there is no connection to send one. */
    private boolean isFailing;
    /** The latter. */
    private boolean isUnreachable;
    private boolean wasInVain;
    private boolean isOver;
    private ScheduledFuture<?> next;

    TakingLog(Base base, List<String> queues) {
        this.base = base;
        this.queues = queues;
    }

    void start() {
        look(null);
    }

    /** No more turns are taken. */
    synchronized void stop() {
        isOver = true;
        if (next != null) next.cancel(false);
    }

    private synchronized void look(KeyturnException why) {
        if (isOver) return;
        next = base.after(LOOK_EVERY, () -> look(base.transport.unreachable()));
        if (why == null && isUnreachable) recovered();
        else if (why != null && wasInVain && !isFailing) {
            isUnreachable = true;
            failed(why);
        }
        wasInVain = why != null;
    }

    synchronized void acquired() {
        if (isFailing) recovered();
    }

    synchronized void notAcquired(Throwable error) {
        // An Acquire that is answered ends it, not a connection that stands.
        isUnreachable = false;
        if (!isFailing) failed(error);
    }

    private void failed(Throwable error) {
        isFailing = true;
        String told = TurnRequests.shortened(reasonOf(error));
        warn("no turns can be taken; it is tried again (queues " + queues + "): " + told);
    }

    private void recovered() {
        isFailing = false;
        isUnreachable = false;
        warn("turns can be taken again (queues " + queues + ")");
    }

    /** Not in the loop: a logger may take its time. */
    private void warn(String what) {
        base.callbacks.execute(() -> base.logger.log(Level.WARNING, what));
    }

    private String reasonOf(Throwable error) {
        String message = Failures.messageOf(error);
        boolean isOfTransport = error instanceof KeyturnException known
                && known.code() == Status.Code.UNAVAILABLE
                && known.reason().isEmpty();
        return isOfTransport && !message.startsWith(CANNOT_REACH) ? CANNOT_REACH + base.address + ": " + message : message;
    }
}
