package io.keyturn.client;

import io.grpc.Status;

/** Both sides are there and disagree about TLS. */
final class TlsException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** No connection ever came about: without a change nothing gets better. Else certificates may be being replaced. */
    private final boolean isForGood;

    TlsException(String what, boolean isForGood) {
        super("no connection over TLS: " + what, Status.Code.UNAVAILABLE);
        this.isForGood = isForGood;
    }

    private TlsException(TlsException other) {
        super(other.getMessage(), Status.Code.UNAVAILABLE);
        this.isForGood = other.isForGood;
    }

    TlsException again() {
        return new TlsException(this);
    }

    boolean isForGood() {
        return isForGood;
    }
}
