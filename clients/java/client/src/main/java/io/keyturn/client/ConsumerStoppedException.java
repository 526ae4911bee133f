package io.keyturn.client;

import io.grpc.Status;

/** A stop cut handlers off: they had no time to end. What they had goes back without counting an attempt, unless the turn was lost. */
public final class ConsumerStoppedException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** How many. */
    private final int handlers;

    ConsumerStoppedException(int handlers) {
        super(
                "the consumer was stopped and cut off " + handlers + (handlers == 1 ? " handler" : " handlers")
                        + "; what they had went back",
                Status.Code.DEADLINE_EXCEEDED);
        this.handlers = handlers;
    }

    /**
     * How many handlers were cut off.
     *
     * @return at least 1
     */
    public int handlers() {
        return handlers;
    }
}
