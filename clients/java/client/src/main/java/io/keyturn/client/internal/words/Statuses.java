package io.keyturn.client.internal.words;

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
import io.keyturn.client.ErrorDetails;
import io.keyturn.client.FieldViolation;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Protos;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Errors of the sidecar and of the transport, read. */
public final class Statuses {
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final String TYPE = "type.googleapis.com/google.rpc.";

    /** The sidecar knows what it wants, and not how this client is told of it. */
    private static final String TO_DO =
            " (KeyturnOptions.token, tokenFile or tokenFrom of the client: a token that the sidecar knows)";

    private Statuses() {}

    /** The error of one command of a session. */
    public static KeyturnException ofCommand(com.google.rpc.Status error) {
        return made(error.getCode(), error.getMessage(), error.getDetailsList());
    }

    /** The error of a unary call, or the end of a stream. */
    public static KeyturnException ofStatus(Status status, Metadata trailers) {
        String message = status.getDescription() == null ? "" : status.getDescription();
        if (status.getCause() != null) message += (message.isEmpty() ? "" : ": ") + Failures.messageOf(status.getCause());
        return made(status.getCode().value(), message.isEmpty() ? status.getCode().name() : message, detailsOf(trailers));
    }

    public static KeyturnException ofTransport(Throwable error) {
        if (error instanceof StatusRuntimeException known) return ofStatus(known.getStatus(), known.getTrailers());
        if (error instanceof StatusException known) return ofStatus(known.getStatus(), known.getTrailers());
        return Failures.of(Failures.messageOf(error), Status.Code.UNKNOWN);
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
            return ApiAccess.api().lost(message, Losses.named(found.metadata.get("cause")), found.details());
        }
        String told = found.reason.equals("NO_CREDENTIALS") ? message + TO_DO : message;
        return Failures.of(told, Status.fromCodeValue(code).getCode(), found.reason, found.details());
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
