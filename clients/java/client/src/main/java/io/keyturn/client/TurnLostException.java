package io.keyturn.client;

import io.grpc.Status;

/** The turn is, or must be taken for, somebody else's: stop working on it. */
public final class TurnLostException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** Why it is lost. */
    private final TurnLoss loss;

    TurnLostException(String message, TurnLoss loss, ErrorDetails details) {
        super(message, Status.Code.ABORTED, "TURN_LOST", details);
        this.loss = loss;
    }

    /**
     * Why it is lost.
     *
     * @return the cause, which also tells what only a client knows
     */
    public TurnLoss loss() {
        return loss;
    }
}
