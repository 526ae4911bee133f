package io.keyturn.client.internal.words;

import io.grpc.Status;
import io.keyturn.client.ErrorDetails;
import io.keyturn.client.FieldViolation;
import io.keyturn.client.ItemFailedException;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerFullException;
import io.keyturn.client.ProducerTimeoutException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.RetryLaterException;
import io.keyturn.client.SpoolException;
import io.keyturn.client.SubmitOutcome;
import io.keyturn.client.TermLoss;
import io.keyturn.client.TermLostException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import io.keyturn.v1.AwaitResponse;
import io.keyturn.v1.Turn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

/** Errors of this client, and what each means for the one who asked. */
public final class Failures {
    /** What a failure means for the one who asked. */
    public enum Failure {
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

    private Failures() {}

    public static Failure failureOf(Throwable error) {
        if (!(unwrapped(error) instanceof KeyturnException known)) return Failure.REFUSED;
        if (isTlsForGood(known)) return Failure.REFUSED;
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
    public static long retryAfter(Throwable error) {
        Throwable bare = unwrapped(error);
        return bare instanceof KeyturnException known
                ? known.retryAfter().map(Clock::nanos).orElse(0L)
                : 0;
    }

    public static String messageOf(Throwable error) {
        try {
            String message = error.getMessage();
            return message == null ? error.toString() : message;
        } catch (RuntimeException | Error unspeakable) {
            // An application's exception may be anything. That it cannot say what it is must not hide that it was thrown.
            return error.getClass().getName();
        }
    }

    public static TermLostException termLost(String message, TermLoss loss) {
        return ApiAccess.api().termLost(message, loss);
    }

    public static KeyturnException of(String message, Status.Code code) {
        return of(message, code, "", null);
    }

    /** {@code details}: null: none. */
    public static KeyturnException of(String message, Status.Code code, String reason, ErrorDetails details) {
        return ApiAccess.api().failure(message, code, reason, details);
    }

    public static KeyturnException wrong(String what) {
        return of(what, Status.Code.INVALID_ARGUMENT);
    }

    public static KeyturnException closed() {
        return of("the client was closed", Status.Code.CANCELLED);
    }

    /** There is neither a connection nor a reason why there is none. */
    public static KeyturnException noAnswerYet(String address) {
        return of("cannot reach " + address + ": no answer yet", Status.Code.UNAVAILABLE);
    }

    /** {@code why}: null: there is a connection. */
    public static KeyturnException tooLate(KeyturnException why) {
        String more = why == null ? "" : ": " + why.getMessage();
        return of("no answer before the call's time-out" + more, Status.Code.DEADLINE_EXCEEDED);
    }

    public static KeyturnException cancelled() {
        return of("the call was cancelled", Status.Code.CANCELLED);
    }

    public static TurnLostException lost(Turn turn, TurnLoss loss) {
        String whose = "the turn of key \"" + turn.getKey() + "\" of queue " + turn.getQueue();
        return ApiAccess.api().lost(whose + " is lost: " + Losses.because(loss), loss, null);
    }

    /** The same error for one more call: each has its own, with the stack of the one who waits for it, and what it suppressed. */
    public static KeyturnException again(KeyturnException error) {
        if (isTls(error)) return ApiAccess.api().tls(error.getMessage(), isTlsForGood(error));
        return of(error.getMessage(), error.code(), error.reason(), error.details());
    }

    public static KeyturnException tls(String what, boolean isForGood) {
        return ApiAccess.api().tls(what, isForGood);
    }

    /** Both sides are there and disagree about TLS. */
    public static boolean isTls(Throwable error) {
        return ApiAccess.api().isTls(error);
    }

    /** The same, and no connection ever came about: without a change nothing gets better. */
    public static boolean isTlsForGood(Throwable error) {
        return ApiAccess.api().isTlsForGood(error);
    }

    public static KeyturnException submitMany(Throwable cause, List<SubmitOutcome> results, List<QueueItem> rest) {
        return ApiAccess.api().submitMany(cause, results, rest);
    }

    public static KeyturnException itemFailed(String queue, String itemId, ItemFailedException.State state, AwaitResponse answer) {
        return ApiAccess.api().itemFailed(queue, itemId, state, answer.getError(), answer.getAttempt());
    }

    public static ProducerClosedException producerClosed(String message) {
        return ApiAccess.api().producerClosed(message);
    }

    public static ProducerFullException producerFull(String message) {
        return ApiAccess.api().producerFull(message);
    }

    public static ProducerTimeoutException producerTimeout(String itemId, Duration timeout, Throwable cause) {
        return ApiAccess.api().producerTimeout(itemId, timeout, cause);
    }

    public static SpoolException spool(SpoolException.Problem problem, Path file, String what, Throwable cause) {
        return ApiAccess.api().spool(problem, file, what, cause);
    }

    /** Null: the back-off of the queue. */
    public static Duration delay(RetryLaterException wish) {
        return ApiAccess.api().delay(wish);
    }

    /** Several wrong fields, told as one. */
    public static KeyturnException ofViolations(Status.Code code, String reason, List<FieldViolation> wrong) {
        String told = wrong.stream().map(one -> one.field() + ": " + one.description()).collect(Collectors.joining("; "));
        ErrorDetails details =
                new ErrorDetails(Map.of(), List.copyOf(wrong), List.of(), Optional.empty(), Optional.empty());
        return of(told, code, reason, details);
    }

    /** Without what futures wrap an error in. */
    public static Throwable unwrapped(Throwable error) {
        Throwable bare = error;
        while ((bare instanceof CompletionException || bare instanceof ExecutionException) && bare.getCause() != null) {
            bare = bare.getCause();
        }
        return bare;
    }
}
