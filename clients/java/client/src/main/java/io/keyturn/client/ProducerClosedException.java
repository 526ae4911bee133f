package io.keyturn.client;

import io.grpc.Status;

/** The producer is closed, or was closed before the item could be handed over. */
public final class ProducerClosedException extends KeyturnException {
    private static final long serialVersionUID = 1;

    ProducerClosedException(String message) {
        super(message, Status.Code.CANCELLED);
    }
}
