package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TurnSettings;
import java.time.Duration;

/** How a turn is asked for and held, made by {@link #builder}. */
public final class TurnOptions {
    /** Who gets a turn. */
    public enum Order {
        /** One works, one waits, the rest is declined, or as the queue's policy says. */
        COALESCE,
        /** Every call gets its turn in the order of arrival, none is declined. */
        STRICT
    }

    /** Waits for ever. */
    public static final Duration FOREVER = Checks.FOREVER;

    /** Everything as it is if nothing is said. */
    public static final TurnOptions DEFAULT = builder().build();

    /** The built-in wait of a queue, for the call that knows no such default. */
    private static final Duration STRICT_WAIT = Duration.ofSeconds(3);

    final TurnSettings settings;

    private TurnOptions(TurnSettings settings) {
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
        private Duration waiting;
        private Order order = Order.COALESCE;
        private Duration lease;
        private Duration maxHold;
        private String idempotencyKey = "";
        private String consumerId = "";
        private boolean interrupts = true;

        private Builder() {}

        /**
         * How long to wait for the turn. More than 5 min is asked for in parts, in one place of the line.
         *
         * @param wait zero: take it now or not at all; {@link #FOREVER}; unset: the queue's, with strict order 3 s
         * @return this
         */
        public Builder waitFor(Duration wait) {
            waiting = Checks.within("wait", wait, Duration.ZERO, Checks.FOREVER);
            return this;
        }

        /**
         * Who gets a turn.
         *
         * @param order unset: {@code COALESCE}
         * @return this
         */
        public Builder order(Order order) {
            this.order = Checks.needed("order", order);
            return this;
        }

        /**
         * How long the turn lives without being renewed.
         *
         * @param lease 100 ms to 24 h; unset: kept by the session, else the queue's
         * @return this
         */
        public Builder lease(Duration lease) {
            this.lease = Checks.within("lease", lease, Duration.ofMillis(100), Checks.DAY);
            return this;
        }

        /**
         * After how long the holder is told to stop: its thread is interrupted.
         *
         * @param maxHold 1 ms or more; unset: no limit
         * @return this
         */
        public Builder maxHold(Duration maxHold) {
            this.maxHold = Checks.within("maxHold", maxHold, Duration.ofMillis(1), Checks.FOREVER);
            return this;
        }

        /**
         * Your business id: once done it is declined while the queue remembers it. Not with strict order.
         *
         * @param key up to 256 bytes
         * @return this
         */
        public Builder idempotencyKey(String key) {
            idempotencyKey = Checks.id("idempotencyKey", key);
            return this;
        }

        /**
         * Who asks, for people who look.
         *
         * @param id up to 256 bytes; unset: the client's
         * @return this
         */
        public Builder consumerId(String id) {
            consumerId = Checks.id("consumerId", id);
            return this;
        }

        /**
         * Whether the thread that holds the turn is interrupted when it is lost.
         *
         * @param interrupts false: it is only told by {@link ScopedTurn#onLost}, {@link ScopedTurn#isLost} and
         *     {@link ScopedTurn#ensureHeld}; unset: true
         * @return this
         */
        public Builder interrupts(boolean interrupts) {
            this.interrupts = interrupts;
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public TurnOptions build() {
            boolean isStrict = order == Order.STRICT;
            if (isStrict && !idempotencyKey.isEmpty()) {
                throw Failures.wrong("idempotencyKey is \"" + idempotencyKey + "\"; with strict order it is not allowed");
            }
            Duration wait = waiting == null && isStrict ? STRICT_WAIT : waiting;
            return new TurnOptions(
                    new TurnSettings(wait, isStrict, lease, maxHold, idempotencyKey, consumerId, interrupts));
        }
    }
}
