package io.keyturn.client;

import com.google.protobuf.ByteString;
import io.keyturn.client.Failures.Failure;
import io.keyturn.v1.DeQueueRequest;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/**
 * The right to process a key now, for try-with-resources; or, {@link #granted} says so, none. It is kept alive until it is closed.
 *
 * <p>When it is lost the thread that asked for it is interrupted (unless its options say otherwise), and so it is when
 * {@code maxHold} is over; after {@link #close} it never is. {@link #complete} says that the work is done; a turn that is closed
 * without it is given back as abandoned, so that its idempotency key is not taken for done.
 *
 * <p>All methods are safe for use by many threads; {@code close} belongs to the thread that asked.
 */
public final class ScopedTurn implements AutoCloseable {
    /** A settling call that failed so may be sent again. */
    static final Set<Failure> BORNE = EnumSet.of(Failure.AWAY, Failure.FULL);

    private static final long GIVING_BACK = 1_000 * Clock.MS;

    private final Base base;
    private final String queue;
    private final String key;
    private final TurnOutcome<?> refused;
    private final io.keyturn.v1.Turn turn;
    private final Held held;
    private final Interrupter interrupter = new Interrupter();
    private final Thread owner = Thread.currentThread();
    private final ScheduledFuture<?> maxHold;
    private volatile boolean hasRunOut;
    private volatile boolean settled;

    ScopedTurn(Base base, String queue, String key, Claim.Claimed claimed, TurnOptions options) {
        this.base = base;
        this.queue = queue;
        this.key = key;
        this.refused = claimed.refused();
        this.turn = claimed.turn();
        if (turn == null) {
            held = null;
            maxHold = null;
            return;
        }
        held = base.transport.hold(turn, claimed.askedAt());
        base.metrics.turnGranted(queue);
        held.onLoss(loss -> {
            if (options.interrupts()) interrupter.interrupt();
        });
        onLost(loss -> base.metrics.turnLost(queue, loss));
        maxHold = options.maxHold() == null ? null : base.after(Clock.nanos(options.maxHold()), this::runOut);
        base.scoped.add(this);
    }

    /** The client is being closed. */
    void lose() {
        held.lose(TurnLoss.CLOSED);
    }

    boolean isOf(Thread thread) {
        return owner == thread;
    }

    private void runOut() {
        hasRunOut = true;
        interrupter.interrupt();
    }

    /**
     * Whether it is our turn. If not, the message is to be dropped ({@link #declined}) or to be tried later.
     *
     * @return true: process the key
     */
    public boolean granted() {
        return turn != null;
    }

    /**
     * Why the message is not needed.
     *
     * @return empty: it was not declined
     */
    public Optional<TurnOutcome.Declined<?>> declined() {
        return refused instanceof TurnOutcome.Declined<?> declined ? Optional.of(declined) : Optional.empty();
    }

    /**
     * That the wait ended first.
     *
     * @return empty: it did not
     */
    public Optional<TurnOutcome.Blocked<?>> blocked() {
        return refused instanceof TurnOutcome.Blocked<?> blocked ? Optional.of(blocked) : Optional.empty();
    }

    TurnOutcome<?> refused() {
        return refused;
    }

    /**
     * The queue of the key.
     *
     * @return its name
     */
    public String queue() {
        return queue;
    }

    /**
     * The key.
     *
     * @return as it was asked for
     */
    public String key() {
        return key;
    }

    /**
     * The fencing token: it grows with every turn of the queue. Let what you write to refuse a smaller one than it has seen.
     *
     * @return above 0
     * @throws IllegalStateException when the turn was not granted
     */
    public long token() {
        needGranted();
        return turn.getToken();
    }

    /**
     * Whether it is lost: evicted, taken over, or the sidecar was away for so long that it may have ended.
     *
     * @return true: stop
     */
    public boolean isLost() {
        return held != null && held.isLost();
    }

    /**
     * Whether {@code maxHold} is over.
     *
     * @return true: stop
     */
    public boolean hasRunOut() {
        return hasRunOut;
    }

    /**
     * Goes on only if the turn is held, as far as is known.
     *
     * @throws TurnLostException when it is lost
     * @throws IllegalStateException when it was not granted
     */
    public void ensureHeld() {
        needGranted();
        if (held.isLost()) throw held.lostException();
    }

    /**
     * Has somebody told, by the thread that completes futures, once the turn is lost.
     *
     * @param listener gets the cause; it must not block
     * @throws IllegalStateException when the turn was not granted
     */
    public void onLost(Consumer<TurnLoss> listener) {
        Checks.needed("listener", listener);
        needGranted();
        // Once it is being given back, complete and close tell what became of it.
        held.onLoss(loss -> {
            if (!settled) base.callbacks.execute(() -> listener.accept(loss));
        });
    }

    /**
     * The work is done: gives the turn back.
     *
     * @throws TurnLostException when it was lost before: the work does not count
     * @throws KeyturnException when the sidecar cannot be reached, which leaves open whether the end was noted
     */
    public void complete() {
        complete(null);
    }

    /**
     * The same with a result, which is remembered with the idempotency key.
     *
     * @param result up to 1 MiB; null: none
     * @throws TurnLostException when it was lost before: the work does not count
     * @throws KeyturnException when the sidecar cannot be reached, which leaves open whether the end was noted
     */
    public void complete(byte[] result) {
        needGranted();
        if (!beginsToSettle()) throw new IllegalStateException("the turn is over: it was completed or closed before");
        settle(result == null ? ByteString.EMPTY : ByteString.copyFrom(result), false);
    }

    /**
     * Ends it: what was not completed is given back as abandoned.
     *
     * @throws TurnLostException when it was lost and not completed
     */
    @Override
    public void close() {
        if (!granted() || !beginsToSettle()) {
            interrupter.end();
            return;
        }
        settle(ByteString.EMPTY, true);
    }

    /** What is thrown instead of what the handler threw, which is told with it. */
    TurnLostException lost(Throwable thrown) {
        TurnLostException lost = held.lostException();
        lost.addSuppressed(thrown);
        return lost;
    }

    /** Gives it back after an error, which matters more than whether that succeeds. */
    void abandon() {
        if (!beginsToSettle()) return;
        try {
            settle(ByteString.EMPTY, true);
        } catch (KeyturnException endsByItself) {
            // With its lease or its session.
            return;
        }
    }

    /** The handler may have completed it, with a result. */
    void completeUnlessDone() {
        if (beginsToSettle()) settle(ByteString.EMPTY, false);
    }

    private synchronized boolean beginsToSettle() {
        if (settled) return false;
        settled = true;
        return true;
    }

    private void settle(ByteString result, boolean abandoned) {
        if (maxHold != null) maxHold.cancel(false);
        interrupter.end();
        try {
            if (held.loss() == TurnLoss.CLOSED) giveBack();
            if (held.isLost()) throw held.lostException();
            DeQueueRequest request =
                    end().setAbandoned(abandoned).setResult(result).build();
            long until = Clock.now() + Transport.GRACE;
            base.getUninterruptibly(Patience.patiently(base, until, BORNE, () -> false, left ->
                    base.transport.ask(Kinds.DEQUEUE, request, CallSettings.nanos(left))));
        } finally {
            // Not before it is settled: who reconnects meanwhile gives back what nobody holds, and the end would be lost.
            held.release();
            base.scoped.remove(this);
        }
    }

    /** Nobody works on it any more, and while the client is being closed the sidecar can be told. Closing waits for that. */
    private void giveBack() {
        base.transport.ask(Kinds.DEQUEUE, end().setAbandoned(true).build(), CallSettings.nanos(GIVING_BACK));
    }

    private DeQueueRequest.Builder end() {
        return DeQueueRequest.newBuilder().setQueue(queue).setKey(key).setToken(turn.getToken());
    }

    private void needGranted() {
        if (turn == null) throw new IllegalStateException("the turn was not granted; granted() tells that before");
    }
}
