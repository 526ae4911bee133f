package io.keyturn.client;

import io.grpc.Status;
import java.util.Optional;

/** The item has no result and gets none. */
public final class ItemFailedException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** How an item can end, or be, without a result to come. */
    public enum State {
        /** It is a dead letter. */
        DEAD("is a dead letter"),
        /** A person discarded it. */
        DISCARDED("was discarded"),
        /** A newer one took its place. */
        SUPERSEDED("was superseded by a newer one"),
        /** It is not known, or was forgotten. */
        UNKNOWN("is not known, or was forgotten");

        private final String what;

        State(String what) {
            this.what = what;
        }
    }

    /** How it ended. */
    private final State state;
    /** What the worker said; empty: nothing. */
    private final String lastError;
    /** How many attempts there were. */
    private final int attempt;

    ItemFailedException(String queue, String itemId, State state, String lastError, int attempt) {
        super(
                "item " + itemId + " of queue " + queue + " " + state.what + (lastError.isEmpty() ? "" : ": " + lastError),
                state == State.UNKNOWN ? Status.Code.NOT_FOUND : Status.Code.FAILED_PRECONDITION);
        this.state = state;
        this.lastError = lastError;
        this.attempt = attempt;
    }

    /**
     * What became of it.
     *
     * @return how it ended
     */
    public State state() {
        return state;
    }

    /**
     * What the worker said, if it failed.
     *
     * @return empty: nothing
     */
    public Optional<String> lastError() {
        return lastError.isEmpty() ? Optional.empty() : Optional.of(lastError);
    }

    /**
     * How many attempts there were.
     *
     * @return 0: none
     */
    public int attempt() {
        return attempt;
    }
}
