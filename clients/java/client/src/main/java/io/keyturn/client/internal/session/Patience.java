package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures.Failure;
import io.keyturn.client.internal.words.Failures;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongFunction;

/** Calls that may be sent again (a ticket, an item id or a token goes with each) outlive a sidecar that restarts. */
public final class Patience<A> {
    /** A settling call, or a question, that failed so may be sent again. */
    public static final Set<Failure> SETTLING = EnumSet.of(Failure.AWAY, Failure.FULL);
    /** A Submit that failed so may be: the sidecar says when a full queue is worth it. */
    public static final Set<Failure> SUBMITTING = EnumSet.of(Failure.AWAY);

    private final Base base;
    private final long until;
    private final Set<Failure> bears;
    private final BooleanSupplier isOver;
    private final LongFunction<CallFuture<A>> ask;
    private final BackOff backOff = new BackOff();
    private final CallFuture<A> done;
    private volatile CallFuture<A> asked;

    private Patience(
            Base base, long until, Set<Failure> bears, BooleanSupplier isOver, LongFunction<CallFuture<A>> ask) {
        this.base = base;
        this.until = until;
        this.bears = bears;
        this.isOver = isOver;
        this.ask = ask;
        this.done = base.pending();
    }

    /**
     * Tries until there is an answer, an error that is not borne, or no time.
     *
     * @param isOver no further try is worth it
     * @param ask gets the ns that are left
     */
    public static <A> CallFuture<A> patiently(
            Base base, long until, Set<Failure> bears, BooleanSupplier isOver, LongFunction<CallFuture<A>> ask) {
        Patience<A> patience = new Patience<>(base, until, bears, isOver, ask);
        patience.done.onCancel(patience::cancel);
        patience.attempt();
        return patience.done;
    }

    private void cancel() {
        CallFuture<A> open = asked;
        if (open != null) open.cancel(true);
    }

    private void attempt() {
        if (done.isDone()) return;
        asked = ask.apply(Math.max(1, until == Clock.NEVER ? until : until - Clock.now()));
        asked.whenComplete((answer, error) -> {
            if (error == null) done.tell(answer);
            else failed(error);
        });
        if (done.isDone()) cancel();
    }

    private void failed(Throwable error) {
        long pause = backOff.next(Failures.retryAfter(error));
        boolean isWorthIt = bears.contains(Failures.failureOf(error))
                && !isOver.getAsBoolean()
                && Clock.after(Clock.now(), pause) < until;
        if (isWorthIt) base.after(pause, this::attempt);
        else done.fail(Failures.unwrapped(error));
    }
}
