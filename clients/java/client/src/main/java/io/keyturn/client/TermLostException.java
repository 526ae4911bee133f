package io.keyturn.client;

import io.grpc.Status;

/** The term is, or must be taken for, somebody else's: stop at once. */
public final class TermLostException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** Why it is lost. */
    private final TermLoss loss;

    TermLostException(String message, TermLoss loss) {
        super(message, Status.Code.ABORTED, "TERM_LOST", null);
        this.loss = loss;
    }

    /**
     * Why it is lost.
     *
     * @return the cause, which also tells what only a client knows
     */
    public TermLoss loss() {
        return loss;
    }
}
