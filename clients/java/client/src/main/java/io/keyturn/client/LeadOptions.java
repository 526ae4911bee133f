package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.LeadSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/** How a worker stands and leads, made by {@link #builder}. */
public final class LeadOptions {
    private static final int MOST_ENTRIES = 64;
    private static final int MOST_BYTES = 8_192;

    /** Everything as it is if nothing is said. */
    public static final LeadOptions DEFAULT = builder().build();

    final LeadSettings settings;

    private LeadOptions(LeadSettings settings) {
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
        private static final Duration SHORTEST = Duration.ofMillis(100);

        private String candidateId = "";
        private Duration ttl = Duration.ofSeconds(5);
        private Duration margin;
        private Duration inaugurateTimeout = Duration.ofSeconds(30);
        private Duration handOverTimeout = Duration.ofSeconds(10);
        private Map<String, String> metadata = Map.of();
        private boolean isManual;
        private boolean once;
        private boolean interrupts = true;

        private Builder() {}

        /**
         * Who stands: one id for one life of one worker.
         *
         * @param id up to 256 bytes; unset: the client's consumer id, and something random
         * @return this
         */
        public Builder candidateId(String id) {
            candidateId = Checks.id("candidateId", id);
            return this;
        }

        /**
         * How long a term lives without a sign of life.
         *
         * @param ttl 500 ms to 1 h; unset: 5 s
         * @return this
         */
        public Builder ttl(Duration ttl) {
            this.ttl = Checks.within("ttl", ttl, Duration.ofMillis(500), Duration.ofHours(1));
            return this;
        }

        /**
         * How long before that the worker is told that the term is lost, by its own clock.
         *
         * @param margin up to 1 h, never above eight tenths; unset: a tenth, at most 2 s
         * @return this
         */
        public Builder margin(Duration margin) {
            this.margin = Checks.within("margin", margin, Duration.ZERO, Duration.ofHours(1));
            return this;
        }

        /**
         * How long an inauguration may take.
         *
         * @param timeout 100 ms to 24 h; unset: 30 s
         * @return this
         */
        public Builder inaugurateTimeout(Duration timeout) {
            inaugurateTimeout = Checks.within("inaugurateTimeout", timeout, SHORTEST, Checks.DAY);
            return this;
        }

        /**
         * How long a hand-over may take.
         *
         * @param timeout 100 ms to 24 h; unset: 10 s
         * @return this
         */
        public Builder handOverTimeout(Duration timeout) {
            handOverTimeout = Checks.within("handOverTimeout", timeout, SHORTEST, Checks.DAY);
            return this;
        }

        /**
         * What is shown to people who ask who leads.
         *
         * @param metadata up to 64 entries and 8 KiB
         * @return this
         */
        public Builder metadata(Map<String, String> metadata) {
            int bytes = 0;
            for (Map.Entry<String, String> entry : Checks.needed("metadata", metadata).entrySet()) {
                bytes += Checks.unicode("metadata", entry.getKey()).getBytes(StandardCharsets.UTF_8).length;
                bytes += Checks.unicode("metadata", entry.getValue()).getBytes(StandardCharsets.UTF_8).length;
            }
            if (metadata.size() > MOST_ENTRIES || bytes > MOST_BYTES) {
                throw Failures.wrong("metadata has " + metadata.size() + " entries of " + bytes + " bytes; allowed are "
                        + MOST_ENTRIES + " of " + MOST_BYTES + " bytes together");
            }
            this.metadata = Map.copyOf(metadata);
            return this;
        }

        /**
         * That {@link LeaderCareer#execute} calls {@link LeaderTerm#progress} is the sign of life, so that work that is stuck loses its
         * term. Unset: that the process lives.
         *
         * @return this
         */
        public Builder manualProgress() {
            isManual = true;
            return this;
        }

        /**
         * Not to stand again after the first term.
         *
         * @return this
         */
        public Builder once() {
            once = true;
            return this;
        }

        /**
         * Whether the thread of a phase is interrupted when the term is lost.
         *
         * @param interrupts false: it is only told by {@link LeaderTerm}; unset: true
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
        public LeadOptions build() {
            return new LeadOptions(new LeadSettings(
                    candidateId, ttl, margin, inaugurateTimeout, handOverTimeout, metadata, isManual, once, interrupts));
        }
    }
}
