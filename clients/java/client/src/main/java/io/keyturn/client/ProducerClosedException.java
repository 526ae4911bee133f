package io.keyturn.client;

/** The producer is closed, or was closed before the item could be handed over. */
public final class ProducerClosedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ProducerClosedException(String message) {
        super(message);
    }
}
