package io.keyturn.client;

import io.grpc.Status;
import io.keyturn.client.internal.words.ApiAccess;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Statuses;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What this client throws: a call was refused by the sidecar, or did not come through, or a setting is wrong
 * ({@code INVALID_ARGUMENT}). Its subclasses tell more: {@link TurnLostException}, {@link ItemFailedException}, {@link SpoolException}, …
 */
public class KeyturnException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private static final ErrorDetails NO_DETAILS =
            new ErrorDetails(Map.of(), List.of(), List.of(), Optional.empty(), Optional.empty());

    static {
        ApiAccess.grant(new GrantedAccess());
    }

    /** The status of gRPC. */
    private final Status.Code code;
    /** The reason of the contract, or empty. */
    private final String reason;
    private final transient ErrorDetails details;

    KeyturnException(String message, Status.Code code) {
        this(message, code, "", null);
    }

    KeyturnException(String message, Status.Code code, Throwable cause) {
        this(message, code);
        if (cause != null) initCause(cause);
    }

    KeyturnException(String message, Status.Code code, String reason, ErrorDetails details) {
        super(message);
        this.code = code;
        this.reason = reason;
        this.details = details;
    }

    /**
     * The status of gRPC.
     *
     * @return {@code ABORTED}, {@code UNAVAILABLE}, …
     */
    public final Status.Code code() {
        return code;
    }

    /**
     * The reason of the contract.
     *
     * @return {@code TURN_LOST}, {@code QUEUE_FULL}, …; empty when the error did not come from the sidecar itself
     */
    public final String reason() {
        return reason;
    }

    /**
     * What the sidecar tells with the error.
     *
     * @return empty ones when it tells nothing
     */
    public final ErrorDetails details() {
        return details == null ? NO_DETAILS : details;
    }

    /**
     * Each wrong field.
     *
     * @return with what is allowed
     */
    public final List<FieldViolation> violations() {
        return details().violations();
    }

    /**
     * After which time the same call is worth another try.
     *
     * @return empty: the sidecar did not say
     */
    public final Optional<Duration> retryAfter() {
        return details().retryAfter();
    }

    /**
     * What went wrong with a call, whatever it is wrapped in: errors of {@link Keyturn#admin}, of futures that are joined, and
     * others are told in the words of this client.
     *
     * @param error any
     * @return itself when it is one of these; else with the status of gRPC, or {@code UNKNOWN}
     */
    public static KeyturnException of(Throwable error) {
        Throwable bare = Failures.unwrapped(error);
        if (bare instanceof KeyturnException known) return known;
        KeyturnException made = Statuses.ofTransport(bare);
        if (made.getCause() == null && made != bare) made.initCause(bare);
        return made;
    }
}
