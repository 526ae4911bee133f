package io.keyturn.client;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;

/**
 * A message as a worker gets it.
 *
 * @param itemId its id
 * @param payload the message
 * @param headers its headers
 * @param idempotencyKey the user's business id; empty: none
 * @param submittedAt by the sidecar's clock: for people, nothing is compared with it
 * @param attempt which try this is, from 1
 */
public record DeliveredItem(
        String itemId,
        byte[] payload,
        Map<String, String> headers,
        String idempotencyKey,
        Instant submittedAt,
        int attempt) {
    /**
     * The message as a text.
     *
     * @return its bytes read as UTF-8
     */
    public String text() {
        return new String(payload, StandardCharsets.UTF_8);
    }
}
