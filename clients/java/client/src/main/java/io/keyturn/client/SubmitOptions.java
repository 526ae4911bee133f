package io.keyturn.client;

import java.time.Duration;

/**
 * How items are handed over.
 *
 * @param waitForRoom how long to wait for room in a full queue, up to 5 min; null: not at all
 * @param durability what has happened when an item is accepted; null: as the queue has it
 * @param timeout how long to go on trying when the sidecar is away, for each message; null: 10 s and {@code waitForRoom}
 */
public record SubmitOptions(Duration waitForRoom, Durability durability, Duration timeout) {
    /** Nothing said. */
    public static final SubmitOptions DEFAULT = new SubmitOptions(null, null, null);

    /**
     * Refuses what is not allowed, with its name.
     *
     * @param waitForRoom how long to wait for room in a full queue, up to 5 min; null: not at all
     * @param durability what has happened when an item is accepted; null: as the queue has it
     * @param timeout how long to go on trying when the sidecar is away, for each message; null: 10 s and {@code waitForRoom}
     */
    public SubmitOptions {
        if (waitForRoom != null) Checks.within("waitForRoom", waitForRoom, Duration.ZERO, Duration.ofMinutes(5));
        if (timeout != null) Checks.within("timeout", timeout, Duration.ofMillis(1), Checks.FOREVER);
    }

    /**
     * With a wait for room.
     *
     * @param wait up to 5 min
     * @return other options
     */
    public SubmitOptions withWaitForRoom(Duration wait) {
        return new SubmitOptions(wait, durability, timeout);
    }

    /**
     * With a durability.
     *
     * @param wanted refused if the queue cannot give it
     * @return other options
     */
    public SubmitOptions withDurability(Durability wanted) {
        return new SubmitOptions(waitForRoom, wanted, timeout);
    }

    /**
     * With a time-out.
     *
     * @param limit for each message
     * @return other options
     */
    public SubmitOptions withTimeout(Duration limit) {
        return new SubmitOptions(waitForRoom, durability, limit);
    }

    long waitNanos() {
        return waitForRoom == null ? 0 : Clock.nanos(waitForRoom);
    }

    long until() {
        long patience = timeout == null ? waitNanos() + Transport.GRACE : Clock.nanos(timeout);
        return Clock.after(Clock.now(), patience);
    }
}
