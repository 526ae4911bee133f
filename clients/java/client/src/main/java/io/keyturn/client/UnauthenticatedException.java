package io.keyturn.client;

import io.grpc.Status;

/**
 * The sidecar does not know who asks ({@code NO_CREDENTIALS}), or the client has no token to show: see
 * {@link KeyturnOptions.Builder#token}.
 */
public final class UnauthenticatedException extends KeyturnException {
    private static final long serialVersionUID = 1;

    UnauthenticatedException(String message, String reason, ErrorDetails details) {
        super(message, Status.Code.UNAUTHENTICATED, reason, details);
    }
}
