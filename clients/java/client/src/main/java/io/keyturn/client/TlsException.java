package io.keyturn.client;

import io.grpc.Status;

/** Both sides are there and disagree about TLS. */
final class TlsException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** No connection ever came about: without a change nothing gets better. Else certificates may be being replaced. */
    private final boolean isForGood;

    TlsException(String message, boolean isForGood) {
        super(message, Status.Code.UNAVAILABLE);
        this.isForGood = isForGood;
    }

    boolean isForGood() {
        return isForGood;
    }
}
