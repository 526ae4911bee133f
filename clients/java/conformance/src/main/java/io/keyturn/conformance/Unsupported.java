package io.keyturn.conformance;

/** An op that this player does not know. */
final class Unsupported extends RuntimeException {
    private static final long serialVersionUID = 1;

    Unsupported(String message) {
        super(message);
    }
}
