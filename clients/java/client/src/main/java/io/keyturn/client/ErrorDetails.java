package io.keyturn.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the sidecar tells with an error.
 *
 * @param metadata of its ErrorInfo: {@code cause} of TURN_LOST, {@code limit} of LIMIT, …
 * @param violations each wrong field with what is allowed
 * @param quota what is full
 * @param retryAfter after which the same call is worth another try
 * @param resource what was not found
 */
public record ErrorDetails(
        Map<String, String> metadata,
        List<FieldViolation> violations,
        List<String> quota,
        Optional<Duration> retryAfter,
        Optional<String> resource) {}
