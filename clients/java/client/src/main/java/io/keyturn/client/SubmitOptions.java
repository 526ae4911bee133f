package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.SubmitSettings;
import java.time.Duration;

/** How items are handed over, made by {@link #builder}. */
public final class SubmitOptions {
    /** Everything as it is if nothing is said. */
    public static final SubmitOptions DEFAULT = builder().build();

    final SubmitSettings settings;

    private SubmitOptions(SubmitSettings settings) {
        this.settings = settings;
    }

    /**
     * Begins with the defaults.
     *
     * @return a builder, for one thread
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Every method refuses a wrong value with a {@link KeyturnException} that names it and what is allowed. */
    public static final class Builder {
        private Duration waitForRoom = Duration.ZERO;
        private ItemDurability durability;
        private Duration timeout;

        private Builder() {}

        /**
         * How long to wait for room in a full queue.
         *
         * @param wait up to 5 min; unset: not at all
         * @return this
         */
        public Builder waitForRoom(Duration wait) {
            waitForRoom = Checks.within("waitForRoom", wait, Duration.ZERO, Duration.ofMinutes(5));
            return this;
        }

        /**
         * What has happened when an item is accepted.
         *
         * @param durability refused if the queue cannot give it; unset: as the queue has it
         * @return this
         */
        public Builder durability(ItemDurability durability) {
            this.durability = Checks.needed("durability", durability);
            return this;
        }

        /**
         * How long to go on trying when the sidecar is away, for each message.
         *
         * @param timeout 1 ms or more; unset: 10 s and {@code waitForRoom}
         * @return this
         */
        public Builder timeout(Duration timeout) {
            this.timeout = Checks.within("timeout", timeout, Duration.ofMillis(1), Checks.FOREVER);
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public SubmitOptions build() {
            return new SubmitOptions(new SubmitSettings(Clock.nanos(waitForRoom), durability, timeout));
        }
    }
}
