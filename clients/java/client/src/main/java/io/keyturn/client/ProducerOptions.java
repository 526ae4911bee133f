package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.ProducerSettings;
import io.keyturn.client.internal.words.SpoolSettings;
import java.time.Duration;

/** How a producer works, made by {@link #builder}. */
public final class ProducerOptions {
    /** What happens to an item for which there is no room. */
    public enum WhenFull {
        /** Its future waits for room; at most as much as fits into the buffer may wait so, what comes then gets an error. */
        WAIT,
        /** A {@link ProducerFullException} at once. */
        ERROR
    }

    /** Told of every item that was not handed over. */
    @FunctionalInterface
    public interface ErrorListener {
        /**
         * An item was not handed over.
         *
         * @param error why
         * @param item which one; null: it concerns the spool as a whole, and nothing is lost by it
         */
        void onError(Throwable error, QueueItem item);
    }

    /** Everything as it is if nothing is said. */
    public static final ProducerOptions DEFAULT = builder().build();

    final ProducerSettings settings;

    private ProducerOptions(ProducerSettings settings) {
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
        private static final int MIB = 1_048_576;

        private int count = 100;
        private Duration interval = Duration.ofMillis(5);
        private int maxItems = 10_000;
        private int maxBytes = 16 * MIB;
        private WhenFull whenFull = WhenFull.WAIT;
        private Duration timeout = Duration.ofMinutes(1);
        private ItemDurability durability;
        private ErrorListener onError;
        private SpoolSettings spool;

        private Builder() {}

        /**
         * A batch is sent when it has this many items.
         *
         * @param items 1 to 1,000; unset: 100
         * @return this
         */
        public Builder count(int items) {
            count = (int) Checks.within("count", items, 1, Items.MOST);
            return this;
        }

        /**
         * Or this long after its first item came.
         *
         * @param interval up to 1 min; unset: 5 ms
         * @return this
         */
        public Builder interval(Duration interval) {
            this.interval = Checks.within("interval", interval, Duration.ZERO, Duration.ofMinutes(1));
            return this;
        }

        /**
         * The most items that wait to be accepted.
         *
         * @param most 1 to 1,000,000; unset: 10,000
         * @return this
         */
        public Builder maxItems(int most) {
            maxItems = (int) Checks.within("maxItems", most, 1, 1_000_000);
            return this;
        }

        /**
         * And the most bytes that they take.
         *
         * @param most 1 KiB to 1 GiB; unset: 16 MiB
         * @return this
         */
        public Builder maxBytes(int most) {
            maxBytes = (int) Checks.within("maxBytes", most, 1_024, 1_024 * MIB);
            return this;
        }

        /**
         * What happens to an item for which there is no room.
         *
         * @param whenFull unset: {@code WAIT}
         * @return this
         */
        public Builder whenFull(WhenFull whenFull) {
            this.whenFull = Checks.needed("whenFull", whenFull);
            return this;
        }

        /**
         * How long an item is tried to be handed over.
         *
         * @param timeout 1 ms to 24 h; unset: 1 min
         * @return this
         */
        public Builder timeout(Duration timeout) {
            this.timeout = Checks.within("timeout", timeout, Duration.ofMillis(1), Checks.DAY);
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
         * Who is told of every item that was not handed over, besides its future. Needed with a spool.
         *
         * @param listener must not block
         * @return this
         */
        public Builder onError(ErrorListener listener) {
            onError = Checks.needed("onError", listener);
            return this;
        }

        /**
         * Items are written to disk while the sidecar cannot be reached, or has no room.
         *
         * @param spool where
         * @return this
         */
        public Builder spool(SpoolOptions spool) {
            this.spool = Checks.needed("spool", spool).settings;
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public ProducerOptions build() {
            if (spool != null && onError == null) {
                throw Failures.wrong("onError is null; with a spool it is needed: items on disk have no future any more");
            }
            ErrorListener listener = onError == null ? (error, item) -> {} : onError;
            return new ProducerOptions(new ProducerSettings(
                    count,
                    interval,
                    maxItems,
                    maxBytes,
                    whenFull == WhenFull.WAIT,
                    timeout,
                    durability,
                    listener::onError,
                    spool));
        }
    }
}
