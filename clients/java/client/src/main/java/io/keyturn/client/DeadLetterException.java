package io.keyturn.client;

/** Never try again: the items become dead letters. */
public final class DeadLetterException extends GivenBackException {
    private static final long serialVersionUID = 1;

    /**
     * For good.
     *
     * @param message what is wrong with the item, kept as its last error
     */
    public DeadLetterException(String message) {
        this(message, null, 0);
    }

    /**
     * With everything.
     *
     * @param message what is wrong with the item, kept as its last error
     * @param cause may be null
     * @param done how many items from the first are finished nevertheless
     */
    public DeadLetterException(String message, Throwable cause, int done) {
        super(message, cause, done);
    }
}
