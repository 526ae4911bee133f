package io.keyturn.client;

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
 * @param onItsWay accepted: a follow-up to another group of a cluster: it is submitted there later, once; what its queue
 *     decides is not told
 */
public record SubmitOutcome(
        String itemId,
        boolean accepted,
        Optional<DeclineReason> reason,
        Optional<String> survivorId,
        Optional<String> supersededId,
        Optional<Duration> retryAfter,
        boolean onItsWay) {}
