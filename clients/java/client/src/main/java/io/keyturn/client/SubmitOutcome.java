package io.keyturn.client;

import io.keyturn.v1.Decision;
import java.time.Duration;
import java.util.Optional;

/**
 * What became of an item that was handed over.
 *
 * @param itemId its id
 * @param accepted true: it is kept; false: it is not needed
 * @param reason declined: why
 * @param survivorId declined: who stands in for it
 * @param supersededId accepted: whose place it took
 * @param retryAfter too soon: when it is worth submitting it again
 */
public record SubmitOutcome(
        String itemId,
        boolean accepted,
        Optional<DeclineReason> reason,
        Optional<String> survivorId,
        Optional<String> supersededId,
        Optional<Duration> retryAfter) {
    static SubmitOutcome of(io.keyturn.v1.SubmitResult result) {
        boolean accepted = result.getDecision() == Decision.DECISION_ACCEPT;
        return new SubmitOutcome(
                result.getItemId(),
                accepted,
                accepted ? Optional.empty() : Optional.of(DeclineReason.of(result.getReason())),
                text(result.getSurvivorId()),
                text(result.getSupersededId()),
                result.hasRetryAfter() ? Optional.of(Protos.duration(result.getRetryAfter())) : Optional.empty());
    }

    private static Optional<String> text(String text) {
        return text.isEmpty() ? Optional.empty() : Optional.of(text);
    }
}
