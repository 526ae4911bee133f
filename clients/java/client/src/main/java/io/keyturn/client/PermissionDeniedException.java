package io.keyturn.client;

import io.grpc.Status;

/**
 * The settings of the sidecar ({@code auth.rights}) do not allow it ({@code NOT_ALLOWED}): {@code verb} and {@code what} are in the
 * metadata of the details.
 */
public final class PermissionDeniedException extends KeyturnException {
    private static final long serialVersionUID = 1;

    PermissionDeniedException(String message, String reason, ErrorDetails details) {
        super(message, Status.Code.PERMISSION_DENIED, reason, details);
    }
}
