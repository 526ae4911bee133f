package io.keyturn.client;

/** The item was not taken: the buffer has no room for it. */
public final class ProducerFullException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ProducerFullException(String message) {
        super(message);
    }
}
