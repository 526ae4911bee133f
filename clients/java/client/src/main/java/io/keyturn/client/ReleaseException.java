package io.keyturn.client;

/** Give the items back for another worker: no attempt is counted, and there is no back-off. */
public final class ReleaseException extends GivenBackException {
    private static final long serialVersionUID = 1;

    /** All of them. */
    public ReleaseException() {
        this("the handler released the item", 0);
    }

    /**
     * With everything.
     *
     * @param message why
     * @param done how many items from the first are finished nevertheless
     */
    public ReleaseException(String message, int done) {
        super(message, null, done);
    }
}
