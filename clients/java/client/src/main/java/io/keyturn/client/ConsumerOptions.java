package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.ConsumerSettings;
import io.keyturn.client.internal.words.Items;
import java.time.Duration;
import java.util.concurrent.Executor;

/** How a consumer works, made by {@link #builder}. */
public final class ConsumerOptions {
    /** Where something went wrong. */
    public enum Stage {
        /** No turns could be taken; it is tried again. */
        ACQUIRE,
        /** The handler threw, or its executor refused it, which counts no attempt; the items are given back. */
        HANDLER,
        /** The turn was lost before it could be settled: the items are somebody else's. */
        TURN_LOST,
        /** The turn could not be settled: it ends with its lease or its session. */
        SETTLE,
        /** Items became dead letters, because of this error; told to the log too. */
        DEAD_LETTER,
        /** A stop cut the handler off: its items go back without counting an attempt, unless its turn was lost; also in the log. */
        STOP
    }

    /** Gets everything that went wrong and does not end the consumer. What it throws is logged, and ends nothing. */
    @FunctionalInterface
    public interface ErrorListener {
        /**
         * Something went wrong.
         *
         * @param error what
         * @param stage where
         * @param work of which work; null for {@code ACQUIRE}
         */
        void onError(Throwable error, Stage stage, Work work);
    }

    /** Everything as it is if nothing is said. */
    public static final ConsumerOptions DEFAULT = builder().build();

    final ConsumerSettings settings;
    final ErrorListener onError;

    private ConsumerOptions(ConsumerSettings settings, ErrorListener onError) {
        this.settings = settings;
        this.onError = onError;
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
        private int concurrency = 1;
        private int maxItemsPerTurn = 1;
        private Duration waiting = Duration.ofSeconds(30);
        private Duration lease;
        private Duration maxHold;
        private Duration settleTimeout = Duration.ofSeconds(30);
        private String consumerId = "";
        private boolean interrupts = true;
        private ErrorListener onError = (error, stage, work) -> {};
        private Executor executor;

        private Builder() {}

        /**
         * The most turns at once, each with a thread: with thousands of them, virtual ones ({@link #executor}).
         *
         * @param most 1 to 10,000; unset: 1
         * @return this
         */
        public Builder concurrency(int most) {
            concurrency = (int) Checks.within("concurrency", most, 1, 10_000);
            return this;
        }

        /**
         * The most items of one key in one turn.
         *
         * @param most 1 to 1,000; unset: 1
         * @return this
         */
        public Builder maxItemsPerTurn(int most) {
            maxItemsPerTurn = (int) Checks.within("maxItemsPerTurn", most, 1, Items.MOST);
            return this;
        }

        /**
         * How long one Acquire waits for work.
         *
         * @param wait 100 ms to 5 min; unset: 30 s
         * @return this
         */
        public Builder waitFor(Duration wait) {
            waiting = Checks.within("wait", wait, Duration.ofMillis(100), Duration.ofMinutes(5));
            return this;
        }

        /**
         * How long turns live without being renewed.
         *
         * @param lease 100 ms to 24 h; unset: kept by the session, else the queue's
         * @return this
         */
        public Builder lease(Duration lease) {
            this.lease = Checks.within("lease", lease, Duration.ofMillis(100), Checks.DAY);
            return this;
        }

        /**
         * After how long a handler is told to stop.
         *
         * @param maxHold 1 ms or more; unset: no limit
         * @return this
         */
        public Builder maxHold(Duration maxHold) {
            this.maxHold = Checks.within("maxHold", maxHold, Duration.ofMillis(1), Checks.FOREVER);
            return this;
        }

        /**
         * How long Ack and Nack are tried again while the sidecar is away or full.
         *
         * @param timeout 1 ms to 24 h; unset: 30 s
         * @return this
         */
        public Builder settleTimeout(Duration timeout) {
            settleTimeout = Checks.within("settleTimeout", timeout, Duration.ofMillis(1), Checks.DAY);
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
         * Whether a handler's thread is interrupted when its turn is lost.
         *
         * @param interrupts false: it is only told by {@link Work#onLost}, {@link Work#isLost} and {@link Work#ensureHeld}; unset: true
         * @return this
         */
        public Builder interrupts(boolean interrupts) {
            this.interrupts = interrupts;
            return this;
        }

        /**
         * Who is told what went wrong, besides the log.
         *
         * @param listener must not block
         * @return this
         */
        public Builder onError(ErrorListener listener) {
            onError = Checks.needed("onError", listener);
            return this;
        }

        /**
         * Where handlers run. It is the application's, and is not shut down with the consumer. What it refuses is given back, told to
         * the error listener, and tried again after a pause; so is what it would run in the thread that asks it.
         *
         * @param executor {@code Executors.newVirtualThreadPerTaskExecutor()}, or any with threads; unset: a thread for each, by need
         * @return this
         */
        public Builder executor(Executor executor) {
            this.executor = Checks.needed("executor", executor);
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public ConsumerOptions build() {
            ConsumerSettings settings = new ConsumerSettings(
                    concurrency, maxItemsPerTurn, waiting, lease, maxHold, settleTimeout, consumerId, interrupts, executor);
            return new ConsumerOptions(settings, onError);
        }
    }
}
