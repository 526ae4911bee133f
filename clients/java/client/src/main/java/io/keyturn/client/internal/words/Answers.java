package io.keyturn.client.internal.words;

import com.google.protobuf.ByteString;
import io.keyturn.client.DeclineReason;
import io.keyturn.client.DeliveredItem;
import io.keyturn.client.ItemDurability;
import io.keyturn.client.Protos;
import io.keyturn.client.SubmitOutcome;
import io.keyturn.client.TurnOutcome;
import io.keyturn.v1.Decision;
import io.keyturn.v1.Durability;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.Item;
import io.keyturn.v1.Reason;
import io.keyturn.v1.SubmitResponse;
import io.keyturn.v1.SubmitResult;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** What the sidecar answers, as an application sees it. */
public final class Answers {
    private Answers() {}

    public static DeliveredItem delivered(Item item) {
        return new DeliveredItem(
                item.getItemId(),
                item.getPayload().toByteArray(),
                item.getHeadersMap(),
                item.getIdempotencyKey(),
                Instant.ofEpochSecond(item.getSubmittedAt().getSeconds(), item.getSubmittedAt().getNanos()),
                item.getAttempt());
    }

    public static List<SubmitOutcome> submitted(SubmitResponse answer) {
        return answer.getResultsList().stream().map(Answers::submitted).toList();
    }

    private static SubmitOutcome submitted(SubmitResult result) {
        boolean accepted = result.getDecision() == Decision.DECISION_ACCEPT;
        return new SubmitOutcome(
                result.getItemId(),
                accepted,
                accepted ? Optional.empty() : Optional.of(reason(result.getReason())),
                text(result.getSurvivorId()),
                text(result.getSupersededId()),
                result.hasRetryAfter() ? Optional.of(Protos.duration(result.getRetryAfter())) : Optional.empty(),
                result.getOnItsWay());
    }

    /** Why an EnQueue gave no turn. */
    public static TurnOutcome<?> refused(EnQueueResponse answer) {
        Optional<Duration> retryAfter =
                answer.hasRetryAfter() ? Optional.of(Protos.duration(answer.getRetryAfter())) : Optional.empty();
        if (answer.getDecision() != Decision.DECISION_DECLINE) {
            return new TurnOutcome.Blocked<>(OptionalInt.of(answer.getAhead()), retryAfter);
        }
        DeclineReason reason = reason(answer.getReason());
        Optional<byte[]> result = reason == DeclineReason.ALREADY_DONE ? bytes(answer.getResult()) : Optional.empty();
        return new TurnOutcome.Declined<>(reason, text(answer.getSurvivorId()), retryAfter, result);
    }

    public static Durability durability(ItemDurability durability) {
        if (durability == null) return Durability.DURABILITY_UNSPECIFIED;
        return switch (durability) {
            case ON_FLUSH -> Durability.DURABILITY_ON_FLUSH;
            case INTERVAL -> Durability.DURABILITY_INTERVAL;
            case COUNT -> Durability.DURABILITY_COUNT;
            case MEMORY -> Durability.DURABILITY_MEMORY;
        };
    }

    /** Empty: there is none. */
    public static Optional<byte[]> bytes(ByteString bytes) {
        return bytes.isEmpty() ? Optional.empty() : Optional.of(bytes.toByteArray());
    }

    private static Optional<String> text(String text) {
        return text.isEmpty() ? Optional.empty() : Optional.of(text);
    }

    private static DeclineReason reason(Reason reason) {
        return switch (reason) {
            case REASON_SUPERSEDED -> DeclineReason.SUPERSEDED;
            case REASON_ALREADY_DONE -> DeclineReason.ALREADY_DONE;
            case REASON_TOO_SOON -> DeclineReason.TOO_SOON;
            case REASON_WAITER_EXISTS, REASON_UNSPECIFIED, UNRECOGNIZED -> DeclineReason.WAITER_EXISTS;
        };
    }
}
