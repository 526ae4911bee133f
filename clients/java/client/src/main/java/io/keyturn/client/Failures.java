package io.keyturn.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.QuotaFailure;
import com.google.rpc.ResourceInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Errors of the sidecar and of the transport as {@link KeyturnException}s, and what each means for the one who asked. */
final class Failures {
    /** What a failure means for the one who asked. */
    enum Failure {
        /** Nothing was heard from a sidecar that takes work; the call may have been carried out or not. */
        AWAY,
        /** Refused for now, nothing was done. */
        FULL,
        /** The turn is not ours. */
        LOST,
        /** The call was ended by whoever may. */
        CANCELLED,
        /** It will be refused again. */
        REFUSED
    }

    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final String TYPE = "type.googleapis.com/google.rpc.";

    private Failures() {}

    static Failure failureOf(Throwable error) {
        if (!(KeyturnException.unwrapped(error) instanceof KeyturnException known)) return Failure.REFUSED;
        if (known instanceof TlsException tls && tls.isForGood()) return Failure.REFUSED;
        return switch (known.code()) {
            case UNAVAILABLE, DEADLINE_EXCEEDED -> Failure.AWAY;
            // Without a reason it comes from the transport, which has several words for a connection that broke.
            case INTERNAL, UNKNOWN -> known.reason().isEmpty() ? Failure.AWAY : Failure.REFUSED;
            case RESOURCE_EXHAUSTED -> Failure.FULL;
            case ABORTED -> known.reason().equals("TURN_LOST") ? Failure.LOST : Failure.REFUSED;
            case CANCELLED -> Failure.CANCELLED;
            default -> Failure.REFUSED;
        };
    }

    /** How long the sidecar asks us to wait, ns; 0: it does not say. */
    static long retryAfter(Throwable error) {
        Throwable bare = KeyturnException.unwrapped(error);
        return bare instanceof KeyturnException known
                ? known.retryAfter().map(Clock::nanos).orElse(0L)
                : 0;
    }

    static String messageOf(Throwable error) {
        try {
            String message = error.getMessage();
            return message == null ? error.toString() : message;
        } catch (RuntimeException | Error unspeakable) {
            // An application's exception may be anything. That it cannot say what it is must not hide that it was thrown.
            return error.getClass().getName();
        }
    }

    static KeyturnException wrong(String what) {
        return new KeyturnException(what, Status.Code.INVALID_ARGUMENT);
    }

    static KeyturnException closed() {
        return new KeyturnException("the client was closed", Status.Code.CANCELLED);
    }

    static KeyturnException cancelled() {
        return new KeyturnException("the call was cancelled", Status.Code.CANCELLED);
    }

    /** The same error for one more call: each has its own, with the stack of the one who waits for it, and what it suppressed. */
    static KeyturnException again(KeyturnException error) {
        if (error instanceof TlsException tls) return tls.again();
        return new KeyturnException(error.getMessage(), error.code(), error.reason(), error.details());
    }

    /** The error of one command of a session. */
    static KeyturnException ofCommand(com.google.rpc.Status error) {
        return made(error.getCode(), error.getMessage(), error.getDetailsList());
    }

    /** The error of a unary call, or the end of a stream. */
    static KeyturnException ofStatus(Status status, Metadata trailers) {
        String message = status.getDescription() == null ? "" : status.getDescription();
        if (status.getCause() != null) message += (message.isEmpty() ? "" : ": ") + messageOf(status.getCause());
        return made(status.getCode().value(), message.isEmpty() ? status.getCode().name() : message, detailsOf(trailers));
    }

    static KeyturnException ofTransport(Throwable error) {
        if (error instanceof StatusRuntimeException known) return ofStatus(known.getStatus(), known.getTrailers());
        if (error instanceof StatusException known) return ofStatus(known.getStatus(), known.getTrailers());
        return new KeyturnException(messageOf(error), Status.Code.UNKNOWN);
    }

    private static List<Any> detailsOf(Metadata trailers) {
        byte[] bytes = trailers == null ? null : trailers.get(DETAILS);
        if (bytes == null) return List.of();
        try {
            return com.google.rpc.Status.parseFrom(bytes).getDetailsList();
        } catch (InvalidProtocolBufferException foreign) {
            // The code and the message stand by themselves; a proxy may have put anything here.
            return List.of();
        }
    }

    private static KeyturnException made(int code, String message, List<Any> parts) {
        Findings found = new Findings();
        for (Any part : parts) found.read(part);
        if (found.reason.equals("TURN_LOST")) {
            return new TurnLostException(message, TurnLoss.named(found.metadata.get("cause")), found.details());
        }
        return new KeyturnException(message, Status.fromCodeValue(code).getCode(), found.reason, found.details());
    }

    private static final class Findings {
        String reason = "";
        Map<String, String> metadata = Map.of();
        List<FieldViolation> violations = List.of();
        List<String> quota = List.of();
        Optional<Duration> retryAfter = Optional.empty();
        Optional<String> resource = Optional.empty();

        /** Details that are not what they say they are do not hide the error itself. */
        void read(Any part) {
            if (!part.getTypeUrl().startsWith(TYPE)) return;
            try {
                readKnown(part.getTypeUrl().substring(TYPE.length()), part);
            } catch (InvalidProtocolBufferException foreign) {
                // As if it were not there.
                return;
            }
        }

        private void readKnown(String type, Any part) throws InvalidProtocolBufferException {
            switch (type) {
                case "ErrorInfo" -> {
                    ErrorInfo info = ErrorInfo.parseFrom(part.getValue());
                    reason = info.getReason();
                    metadata = info.getMetadataMap();
                }
                case "BadRequest" -> violations = BadRequest.parseFrom(part.getValue()).getFieldViolationsList().stream()
                        .map(one -> new FieldViolation(one.getField(), one.getDescription()))
                        .toList();
                case "QuotaFailure" -> quota = QuotaFailure.parseFrom(part.getValue()).getViolationsList().stream()
                        .map(one -> one.getSubject() + ": " + one.getDescription())
                        .toList();
                case "RetryInfo" -> retryAfter =
                        Optional.of(Protos.duration(RetryInfo.parseFrom(part.getValue()).getRetryDelay()));
                case "ResourceInfo" -> resource =
                        Optional.of(ResourceInfo.parseFrom(part.getValue()).getResourceName());
                default -> {
                    // A detail that this client has no word for.
                }
            }
        }

        ErrorDetails details() {
            return new ErrorDetails(metadata, violations, quota, retryAfter, resource);
        }
    }
}
