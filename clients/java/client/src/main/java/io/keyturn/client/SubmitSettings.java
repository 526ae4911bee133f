package io.keyturn.client;

import java.time.Duration;

/**
 * How items are handed over.
 *
 * @param waitForRoom ns
 * @param durability null: as the queue has it
 * @param timeout for each message; null: a call's and the wait
 */
record SubmitSettings(long waitForRoom, ItemDurability durability, Duration timeout) {
    /** Until when a message that is begun now is tried. */
    long until() {
        return Clock.after(Clock.now(), timeout == null ? waitForRoom + CallTerms.GRACE : Clock.nanos(timeout));
    }
}
