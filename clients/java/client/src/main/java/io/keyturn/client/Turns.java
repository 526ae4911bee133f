package io.keyturn.client;

import io.keyturn.client.internal.consume.CallerTurn;
import io.keyturn.client.internal.consume.Callers;
import io.keyturn.client.internal.consume.Claim;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.client.internal.words.TurnSettings;
import java.util.function.Function;

/** Turns for messages that the caller has. */
abstract class Turns extends RawCalls {
    final Callers callers = new Callers();

    Turns(Base base) {
        super(base);
    }

    /**
     * Asks for the turn of a key, for try-with-resources. {@link ScopedTurn#granted} says whether we have it.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @return the turn, kept alive until it is closed; or why there is none
     */
    public ScopedTurn turn(String queue, String key) {
        return turn(queue, key, TurnOptions.DEFAULT);
    }

    /**
     * The same with options. An interrupt of the thread that waits leaves the line (CANCELLED), and stays set.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @param options what is not as usual
     * @return the turn, kept alive until it is closed; or why there is none
     */
    public ScopedTurn turn(String queue, String key, TurnOptions options) {
        ScopedTurn turn = claimed(queue, key, options);
        turn.activate();
        return turn;
    }

    private ScopedTurn claimed(String queue, String key, TurnOptions options) {
        Checks.text("queue", queue);
        Checks.text("key", key);
        TurnSettings settings = Checks.needed("options", options).settings;
        TraceSpan span = base.tracing.turn(queue, key);
        span.waiting();
        try {
            return new Claim(base, callers, queue, key, settings).await(claimed -> {
                CallerTurn turn = claimed.turn() == null ? null : new CallerTurn(base, callers, claimed, settings, span);
                if (turn == null) refused(span, claimed.refused());
                return new ScopedTurn(queue, key, claimed.refused(), turn);
            });
        } catch (RuntimeException error) {
            span.failedTurn(error);
            span.end();
            throw error;
        }
    }

    private static void refused(TraceSpan span, TurnOutcome<?> why) {
        span.outcome(why instanceof TurnOutcome.Blocked<?> ? "blocked" : "declined");
        span.end();
    }

    /**
     * Asks for the turn of a key, runs the handler in this thread while the turn is kept alive, and gives it back. What the handler
     * throws is thrown on, after the turn was given back.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @param handler the work
     * @param <T> what it returns
     * @return what came of it
     * @throws TurnLostException when the turn was lost, after the handler has ended: its work does not count
     */
    public <T> TurnOutcome<T> withTurn(String queue, String key, TurnHandler<T> handler) {
        return withTurn(queue, key, TurnOptions.DEFAULT, handler);
    }

    /**
     * The same with options.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @param options what is not as usual
     * @param handler the work
     * @param <T> what it returns
     * @return what came of it
     * @throws TurnLostException when the turn was lost, after the handler has ended: its work does not count
     */
    public <T> TurnOutcome<T> withTurn(String queue, String key, TurnOptions options, TurnHandler<T> handler) {
        Checks.needed("the handler", handler);
        return withTurnChecked(queue, key, options, handler::handle);
    }

    /**
     * {@link #withTurn} for a handler that throws checked exceptions.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @param handler the work
     * @param <T> what it returns
     * @param <X> what it may throw
     * @return what came of it
     * @throws X what the handler threw, after the turn was given back
     * @throws TurnLostException when the turn was lost, after the handler has ended: its work does not count
     */
    public <T, X extends Exception> TurnOutcome<T> withTurnChecked(
            String queue, String key, CheckedTurnHandler<T, X> handler) throws X {
        return withTurnChecked(queue, key, TurnOptions.DEFAULT, handler);
    }

    /**
     * The same with options.
     *
     * @param queue of the key
     * @param key what is to be processed
     * @param options what is not as usual
     * @param handler the work
     * @param <T> what it returns
     * @param <X> what it may throw
     * @return what came of it
     * @throws X what the handler threw, after the turn was given back
     * @throws TurnLostException when the turn was lost, after the handler has ended: its work does not count
     */
    public <T, X extends Exception> TurnOutcome<T> withTurnChecked(
            String queue, String key, TurnOptions options, CheckedTurnHandler<T, X> handler) throws X {
        Checks.needed("the handler", handler);
        ScopedTurn turn = turn(queue, key, options);
        if (!turn.granted()) {
            @SuppressWarnings("unchecked") // Neither of the two has a value.
            TurnOutcome<T> refused = (TurnOutcome<T>) turn.refused;
            return refused;
        }
        T value;
        try {
            turn.ensureHeld();
            value = handler.handle(turn);
        } catch (Throwable error) {
            turn.abandon(error);
            if (turn.isLost()) throw turn.lost(error);
            throw error;
        }
        turn.completeUnlessDone();
        return new TurnOutcome.Done<>(value, turn.token());
    }

    /**
     * The article's coordinator on a queue of this sidecar. On the session turns are kept alive; with a queue that has
     * {@code waiting_per_key: 1} (the built-in) repeated work is dropped.
     *
     * @param queue whose keys they are
     * @param key the key of a message
     * @param <T> what a message is known by
     * @return for any thread
     */
    public <T> QueueCoordinator<T> coordinator(String queue, Function<? super T, String> key) {
        return new KeyCoordinator<>(queue, key, name -> claimed(queue, name, KeyCoordinator.OPTIONS));
    }
}
