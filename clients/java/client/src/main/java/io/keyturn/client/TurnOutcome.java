package io.keyturn.client;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What came of asking for a turn.
 *
 * @param <T> what the handler returns
 */
public sealed interface TurnOutcome<T> {
    /**
     * The handler ran, and its turn lived until it was given back.
     *
     * @param value what the handler returned
     * @param token the fencing token of the turn
     * @param <T> what the handler returns
     */
    record Done<T>(T value, long token) implements TurnOutcome<T> {}

    /**
     * The message is not needed: drop it.
     *
     * @param reason why
     * @param survivorId who stands in for it
     * @param retryAfter too soon: when it is worth asking again
     * @param result already done: the remembered result
     * @param <T> what the handler returns
     */
    record Declined<T>(
            DeclineReason reason, Optional<String> survivorId, Optional<Duration> retryAfter, Optional<byte[]> result)
            implements TurnOutcome<T> {}

    /**
     * The wait ended first. No place is kept.
     *
     * @param ahead how many stood before us, the holder included; 0 behind a gate; empty with strict order
     * @param retryAfter behind a gate: when it is worth asking again
     * @param <T> what the handler returns
     */
    record Blocked<T>(OptionalInt ahead, Optional<Duration> retryAfter) implements TurnOutcome<T> {}
}
