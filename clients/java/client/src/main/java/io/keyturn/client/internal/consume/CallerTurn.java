package io.keyturn.client.internal.consume;

import com.google.protobuf.ByteString;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Held;
import io.keyturn.client.internal.session.Interrupter;
import io.keyturn.client.internal.session.Patience;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.client.internal.words.TurnSettings;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.Turn;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/**
 * A turn that a caller holds: its thread is interrupted when the turn is lost or held for too long, and it is given back once. For
 * any thread.
 */
public final class CallerTurn implements Callers.Holder {
    private static final long GIVING_BACK = 1_000 * Clock.MS;

    public final Turn turn;
    public final Held held;
    private final Base base;
    private final Callers callers;
    private final Interrupter interrupter = new Interrupter();
    private final Thread owner = Thread.currentThread();
    private final ScheduledFuture<?> maxHold;
    private final TraceSpan span;
    /** Of the owner. Null: its span is not the active one. */
    private TraceSpan.Active active;
    private volatile boolean hasRunOut;
    private volatile boolean settled;

    public CallerTurn(Base base, Callers callers, Claim.Claimed claimed, TurnSettings options, TraceSpan span) {
        this.base = base;
        this.callers = callers;
        turn = claimed.turn();
        this.span = span;
        span.granted(turn);
        held = base.transport.hold(turn, claimed.askedAt());
        base.metrics.turnGranted(turn.getQueue());
        held.onLoss(loss -> {
            if (options.interrupts()) interrupter.interrupt();
        });
        onLost(loss -> base.metrics.turnLost(turn.getQueue(), loss));
        maxHold = options.maxHold() == null ? null : base.after(Clock.nanos(options.maxHold()), this::runOut);
        callers.add(this);
    }

    @Override
    public void lose(TurnLoss why) {
        held.lose(why);
    }

    @Override
    public boolean isOf(Thread thread) {
        return owner == thread;
    }

    private void runOut() {
        hasRunOut = true;
        interrupter.interrupt();
    }

    public boolean hasRunOut() {
        return hasRunOut;
    }

    public void onLost(Consumer<TurnLoss> listener) {
        // Once it is being given back, its end tells what became of it.
        held.onLoss(loss -> {
            if (!settled) base.callbacks.execute(() -> listener.accept(loss));
        });
    }

    /**
     * Gives it back; false: that was begun before.
     *
     * @throws TurnLostException when it was lost before
     */
    public boolean end(ByteString result, boolean abandoned) {
        synchronized (this) {
            if (settled) return false;
            settled = true;
        }
        settle(result, abandoned);
        return true;
    }

    /** Gives it back after an error, which matters more than whether that succeeds. */
    public void abandon() {
        try {
            end(ByteString.EMPTY, true);
        } catch (KeyturnException endsByItself) {
            // With its lease or its session.
            return;
        }
    }

    /** Its span is the active one of its thread, until that leaves it. */
    public void activate() {
        active = span.activate();
    }

    /** Why it is about to be given back. */
    public void failed(Throwable error) {
        span.failed(error);
    }

    /** Its thread is about something else from now on. */
    public void leave() {
        interrupter.end();
        if (Thread.currentThread() != owner || active == null) return;
        active.close();
        active = null;
    }

    private void settle(ByteString result, boolean abandoned) {
        if (maxHold != null) maxHold.cancel(false);
        leave();
        try {
            if (held.loss() == TurnLoss.CLOSED) giveBack();
            if (held.isLost()) throw held.lostException();
            DeQueueRequest request = request().setAbandoned(abandoned).setResult(result).build();
            long until = Clock.now() + CallTerms.GRACE;
            base.getUninterruptibly(Patience.patiently(base, until, Patience.SETTLING, () -> false, left ->
                    base.transport.ask(Kinds.DEQUEUE, request, CallTerms.nanos(left))));
            span.outcome(abandoned ? "failed" : "done");
        } catch (RuntimeException error) {
            span.failedTurn(error);
            throw error;
        } finally {
            span.end();
            // Not before it is settled: who reconnects meanwhile gives back what nobody holds, and the end would be lost.
            held.release();
            callers.remove(this);
        }
    }

    /** Nobody works on it any more, and while the client is being closed the sidecar can be told. Closing waits for that. */
    private void giveBack() {
        base.transport.ask(Kinds.DEQUEUE, request().setAbandoned(true).build(), CallTerms.nanos(GIVING_BACK));
    }

    private DeQueueRequest.Builder request() {
        return DeQueueRequest.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken());
    }
}
