package io.keyturn.client.internal.consume;

import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.GivenBackException;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Protos;
import io.keyturn.client.RetryLaterException;
import io.keyturn.client.TurnLostException;
import io.keyturn.client.internal.consume.Handlers.Handler;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.session.Held;
import io.keyturn.client.internal.session.Inside;
import io.keyturn.client.internal.session.Interrupter;
import io.keyturn.client.internal.session.Patience;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.ConsumerSettings;
import io.keyturn.client.internal.words.Failures.Failure;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kind;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.Stacks;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.Delivery;
import io.keyturn.v1.NackKind;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.NackResponse;
import io.keyturn.v1.Turn;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.BiConsumer;

/** One turn of a consumer: from its delivery until it is settled. */
public final class Worker {
    /** How long the giving back of a turn at a stop may take. */
    private static final long RELEASING = 2_000 * Clock.MS;

    /** What the consumer learns. */
    interface Owner {
        /** The handler is over, and what it came to was sent, or waits to be tried again. */
        void free(Worker worker);

        /** It is settled, or cannot be. */
        void over(Worker worker);

        /** {@code told}: of the application. */
        void trouble(Throwable error, Stage stage, BiConsumer<Throwable, Stage> told);

        /** A handler was begun, and had no time to come to its end. */
        void cutOff();

        /** What has not begun is not begun any more. */
        boolean isStopping();
    }

    private final Base base;
    private final ConsumerSettings options;
    private final Handler handler;
    private final Owner owner;
    private final Held held;
    private final Delivered work;
    private Interrupter interrupter;
    private boolean isStopped;
    private boolean isGivenUp;
    /** The handler has ended: what it came to is settled by its own thread, whoever stops. */
    private boolean isFinishing;
    private volatile boolean hasBegun;
    private volatile TraceSpan span = TraceSpan.NONE;
    /** What it comes to if what was sent is accepted. */
    private volatile String outcome = "ack";

    Worker(Base base, ConsumerSettings options, Handlers handlers, Owner owner, Delivery delivery, long askedAt) {
        this.base = base;
        this.options = options;
        this.owner = owner;
        this.held = base.transport.hold(delivery.getTurn(), askedAt);
        this.work = new Delivered(base, delivery, held);
        this.handler = handlers.of(work);
        base.metrics.turnGranted(work.turn.getQueue());
    }

    /** Tells the application. */
    void tell(Throwable error, Stage stage) {
        handler.trouble(error, stage);
    }

    /** In a thread for handlers, once. */
    void run() {
        // An executor that runs it in the thread of its caller, which tells all answers, has not begun it.
        base.refuseToBlock();
        boolean isTooLate = owner.isStopping();
        synchronized (this) {
            if (isGivenUp) return;
            if (isTooLate) isStopped = true;
            else hasBegun = true;
            if (hasBegun) span = base.tracing.attempt(work.turn, work.items);
        }
        work.tracedBy(span);
        Inside inside = Inside.enter(base, owner);
        Throwable thrown;
        TraceSpan.Active ours = span.activate();
        try {
            thrown = isTooLate ? new InterruptedException("the consumer stops") : handle();
        } finally {
            ours.close();
            inside.leave();
        }
        finish(thrown);
    }

    /** What the handler threw; null: nothing. */
    private Throwable handle() {
        Interrupter mine = new Interrupter();
        synchronized (this) {
            interrupter = mine;
            if (isStopped) mine.interrupt();
        }
        ScheduledFuture<?> maxHold = null;
        try {
            held.onLoss(loss -> {
                if (options.interrupts()) mine.interrupt();
            });
            work.onLost(loss -> base.metrics.turnLost(work.turn.getQueue(), loss));
            if (options.maxHold() != null) maxHold = base.after(Clock.nanos(options.maxHold()), mine::interrupt);
            // Lost before it began (a long wait, a slow process): nothing is started just to be stopped.
            if (!held.isLost()) handler.handle();
            return null;
        } catch (Throwable error) {
            // Whatever it is: the items must go back.
            return error;
        } finally {
            mine.end();
            if (maxHold != null) maxHold.cancel(false);
        }
    }

    /** Tells the handler to stop. What it throws from now on gives the items back without counting an attempt. */
    synchronized void stop() {
        isStopped = true;
        if (interrupter != null) interrupter.interrupt();
    }

    /** Gives the turn back, which nobody has begun with. */
    CompletableFuture<Void> giveUp() {
        synchronized (this) {
            isGivenUp = true;
        }
        return release(base, work.turn).thenRun(held::release);
    }

    /** The same though the handler has not ended: it was told, and time is over. */
    CompletableFuture<Void> cutOff() {
        synchronized (this) {
            if (isFinishing) return CompletableFuture.completedFuture(null);
            isGivenUp = true;
        }
        CompletableFuture<Void> released = giveUp();
        // One that a slow executor has not begun lost nothing.
        if (hasBegun) {
            owner.cutOff();
            tellCutOff(new InterruptedException("the consumer stops"));
            span.outcome("release");
        }
        return released;
    }

    private void tellCutOff(Throwable reason) {
        // Of a turn that was lost the sidecar says whether an attempt is counted: for a worker that was silent it is.
        warn("a stop cut off a handler" + (held.isLost() ? " whose turn was lost" : "; its items go back without counting an attempt"), "");
        trouble(reason, Stage.STOP);
    }

    private void trouble(Throwable error, Stage stage) {
        span.trouble(error, stage);
        owner.trouble(error, stage, handler::trouble);
    }

    /** Nobody works on them any more: so it is told to those too who look at nothing. */
    private void deadLettered(Object answer, Throwable error) {
        boolean isDead = answer instanceof NackResponse nacked && nacked.getDeadLettered() > 0;
        span.outcome(isDead ? "dead_letter" : outcome);
        if (!(answer instanceof NackResponse told) || !isDead) return;
        warn(told.getDeadLettered() + " items became dead letters", ": " + TurnRequests.shortened(Failures.messageOf(error)));
        trouble(error, Stage.DEAD_LETTER);
    }

    private void warn(String what, String more) {
        Turn turn = work.turn;
        base.logger.log(Level.WARNING, () -> what + " (queue " + turn.getQueue() + ", key \"" + turn.getKey() + "\", token "
                + turn.getToken() + ", attempt " + turn.getAttempt() + ")" + more);
    }

    private void finish(Throwable thrown) {
        boolean stopped;
        synchronized (this) {
            if (isGivenUp) {
                span.end();
                return;
            }
            isFinishing = true;
            stopped = isStopped;
        }
        if (held.isLost()) {
            TurnLostException lost = held.lostException();
            if (thrown != null) lost.addSuppressed(thrown);
            lost(lost);
            return;
        }
        work.end();
        Throwable failure = thrown == null ? work.unfit() : thrown;
        CompletableFuture<?> settled = failure == null ? ack() : nack(failure, stopped);
        if (base.isOrdered) owner.free(this);
        settled.whenComplete((answer, error) -> {
            if (error == null) {
                deadLettered(answer, failure);
                over();
            } else {
                notSettled(Failures.unwrapped(error));
            }
        });
    }

    private CompletableFuture<?> ack() {
        return settle(Kinds.ACK, work.ack());
    }

    private CompletableFuture<?> nack(Throwable thrown, boolean stopped) {
        NackRequest.Builder request = nack(work.turn, NackKind.NACK_KIND_RETRY);
        request.setError(TurnRequests.shortened(Failures.messageOf(thrown)));
        if (thrown instanceof GivenBackException wish) {
            request.setKind(TurnRequests.kindOf(wish)).setDone(Math.min(wish.done(), work.items.size()));
            Duration delay = wish instanceof RetryLaterException later ? Failures.delay(later) : null;
            if (delay != null) request.setDelay(Protos.duration(delay));
        }
        boolean isCutOff = stopped && request.getKind() == NackKind.NACK_KIND_RETRY;
        if (!isCutOff) {
            if (request.getKind() == NackKind.NACK_KIND_RETRY) attemptFailed(thrown, request.getError());
            trouble(thrown, Stage.HANDLER);
            outcome = outcomeOf(request.getKind());
            return settle(Kinds.NACK, request.build());
        }
        // Counted before the stop can end, and sent before somebody is told who may take his time.
        if (hasBegun) owner.cutOff();
        outcome = "release";
        CompletableFuture<?> settled =
                settle(Kinds.NACK, request.setKind(NackKind.NACK_KIND_RELEASE).clearDelay().build());
        if (hasBegun) tellCutOff(thrown);
        return settled;
    }

    /** Also for applications without a listener. A handler that asks for a retry knows why. */
    private void attemptFailed(Throwable thrown, String error) {
        warn("an attempt failed", ": " + error + (thrown instanceof RetryLaterException ? "" : "\n" + Stacks.of(thrown)));
    }

    /** Goes on while the turn is ours, for as long as the options say. */
    private <Q extends com.google.protobuf.MessageLite, A extends com.google.protobuf.MessageLite> CallFuture<A> settle(
            Kind<Q, A> kind, Q request) {
        long until = Clock.after(Clock.now(), Clock.nanos(options.settleTimeout()));
        return Patience.patiently(base, until, Patience.SETTLING, held::isLost, left ->
                base.transport.ask(kind, request, CallTerms.nanos(left)));
    }

    private void notSettled(Throwable error) {
        Failure failure = Failures.failureOf(error);
        if (failure == Failure.LOST) {
            lost(error);
            return;
        }
        trouble(error, Stage.SETTLE);
        if (held.isLost() || failure != Failure.REFUSED) {
            over();
            return;
        }
        // Refused as it is, the turn is ours still: what it said is wrong, or the queue gives items once only.
        boolean once = error instanceof KeyturnException known && known.reason().equals("AT_MOST_ONCE");
        NackRequest instead = nack(work.turn, once ? NackKind.NACK_KIND_RELEASE : NackKind.NACK_KIND_RETRY)
                .setError(TurnRequests.shortened(Failures.messageOf(error)))
                .build();
        outcome = outcomeOf(instead.getKind());
        settle(Kinds.NACK, instead).whenComplete((answer, again) -> {
            if (again != null) trouble(Failures.unwrapped(again), Stage.SETTLE);
            else deadLettered(answer, error);
            over();
        });
    }

    private void lost(Throwable error) {
        trouble(error, Stage.TURN_LOST);
        over();
    }

    private void over() {
        held.release();
        span.end();
        owner.over(this);
    }

    private static String outcomeOf(NackKind kind) {
        return switch (kind) {
            case NACK_KIND_RELEASE -> "release";
            case NACK_KIND_DEAD_LETTER -> "dead_letter";
            default -> "retry";
        };
    }

    private static NackRequest.Builder nack(Turn turn, NackKind kind) {
        return TurnRequests.nack(TurnRequests.refOf(turn), kind);
    }

    /** Gives a turn back that nobody works on, or nobody shall. If that fails, it ends with its lease or its session. */
    static CompletableFuture<Void> release(Base base, Turn turn) {
        NackRequest request = nack(turn, NackKind.NACK_KIND_RELEASE)
                .setError("the consumer stopped")
                .build();
        return base.transport.ask(Kinds.NACK, request, CallTerms.nanos(RELEASING)).handle((answer, error) -> null);
    }
}
