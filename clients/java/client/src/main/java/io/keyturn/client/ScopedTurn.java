package io.keyturn.client;

import com.google.protobuf.ByteString;
import io.keyturn.client.internal.consume.CallerTurn;
import io.keyturn.client.internal.session.Held;
import io.keyturn.client.internal.words.Checks;
import java.util.Optional;
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
    private final String queue;
    private final String key;
    /** Null: it was granted. */
    final TurnOutcome<?> refused;
    /** Null: it was refused. */
    private final CallerTurn turn;

    ScopedTurn(String queue, String key, TurnOutcome<?> refused, CallerTurn turn) {
        this.queue = queue;
        this.key = key;
        this.refused = refused;
        this.turn = turn;
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
     * The fencing token: it grows with every turn of the key. Let what you write to refuse a smaller one of the same key.
     *
     * @return above 0
     * @throws IllegalStateException when the turn was not granted
     */
    public long token() {
        return needed().turn.getToken();
    }

    /**
     * Whether it is lost: evicted, taken over, or the sidecar was away for so long that it may have ended.
     *
     * @return true: stop
     */
    public boolean isLost() {
        return turn != null && turn.held.isLost();
    }

    /**
     * Whether {@code maxHold} is over.
     *
     * @return true: stop
     */
    public boolean hasRunOut() {
        return turn != null && turn.hasRunOut();
    }

    /**
     * Goes on only if the turn is held, as far as is known.
     *
     * @throws TurnLostException when it is lost
     * @throws IllegalStateException when it was not granted
     */
    public void ensureHeld() {
        Held held = needed().held;
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
        needed().onLost(listener);
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
        ByteString bytes = result == null ? ByteString.EMPTY : ByteString.copyFrom(result);
        if (!needed().end(bytes, false)) throw new IllegalStateException("the turn is over: it was completed or closed before");
    }

    /**
     * Ends it: what was not completed is given back as abandoned.
     *
     * @throws TurnLostException when it was lost and not completed
     */
    @Override
    public void close() {
        if (turn != null && !turn.end(ByteString.EMPTY, true)) turn.leave();
    }

    /** What is thrown instead of what the handler threw, which is told with it. */
    TurnLostException lost(Throwable thrown) {
        TurnLostException lost = turn.held.lostException();
        lost.addSuppressed(thrown);
        return lost;
    }

    /** Gives it back after an error, which matters more than whether that succeeds. */
    void abandon(Throwable error) {
        if (!isLost()) turn.failed(error);
        turn.abandon();
    }

    /** Its span is the active one of this thread until it is closed. */
    void activate() {
        if (turn != null) turn.activate();
    }

    /** The handler may have completed it, with a result. */
    void completeUnlessDone() {
        turn.end(ByteString.EMPTY, false);
    }

    private CallerTurn needed() {
        if (turn == null) throw new IllegalStateException("the turn was not granted; granted() tells that before");
        return turn;
    }
}
