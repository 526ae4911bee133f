package io.keyturn.conformance;

/** The request is not what the protocol says: a fault of the one who sent it, or of this player. */
final class WrongRequest extends RuntimeException {
    private static final long serialVersionUID = 1;

    WrongRequest(String message) {
        super(message);
    }
}
