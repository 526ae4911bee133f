package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;

/**
 * An item of any queue.
 *
 * @param queue its queue
 * @param itemId its id
 */
public record Prerequisite(String queue, String itemId) {
    /**
     * Refuses empty texts.
     *
     * @param queue its queue
     * @param itemId its id
     */
    public Prerequisite {
        Checks.text("queue", queue);
        Checks.id("itemId", itemId);
    }
}
