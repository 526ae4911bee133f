package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Items;

/** Thrown by a handler: what shall become of the items. Anything else that is thrown is a retry with the queue's back-off. */
public abstract sealed class GivenBackException extends RuntimeException
        permits RetryLaterException, DeadLetterException, ReleaseException {
    private static final long serialVersionUID = 1;

    /** How many items from the first are finished nevertheless. */
    private final int done;

    GivenBackException(String message, Throwable cause, int done) {
        super(message, cause);
        this.done = (int) Checks.within("done", done, 0, Items.MOST);
    }

    /**
     * How many items from the first are finished nevertheless.
     *
     * @return 0: none
     */
    public final int done() {
        return done;
    }
}
