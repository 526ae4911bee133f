package io.keyturn.client.internal.words;

import io.keyturn.client.ItemDurability;
import java.time.Duration;

/**
 * How items are handed over.
 *
 * @param waitForRoom ns
 * @param durability null: as the queue has it
 * @param timeout for each message; null: a call's and the wait
 */
public record SubmitSettings(long waitForRoom, ItemDurability durability, Duration timeout) {
    /** Until when a message that is begun now is tried. */
    public long until() {
        return Clock.after(Clock.now(), timeout == null ? waitForRoom + CallTerms.GRACE : Clock.nanos(timeout));
    }
}
