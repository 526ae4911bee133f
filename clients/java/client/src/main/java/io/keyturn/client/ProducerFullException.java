package io.keyturn.client;

import io.grpc.Status;

/** The item was not taken: the buffer has no room for it. */
public final class ProducerFullException extends KeyturnException {
    private static final long serialVersionUID = 1;

    ProducerFullException(String message) {
        super(message, Status.Code.RESOURCE_EXHAUSTED);
    }
}
