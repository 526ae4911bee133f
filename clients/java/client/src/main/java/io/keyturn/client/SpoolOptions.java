package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.SpoolSettings;
import java.nio.file.Path;
import java.time.Duration;

/** Where items wait on disk while the sidecar cannot be reached, or has no room, made by {@link #builder}. */
public final class SpoolOptions {
    private static final long MIB = 1_048_576;

    final SpoolSettings settings;

    private SpoolOptions(SpoolSettings settings) {
        this.settings = settings;
    }

    /**
     * Begins with the defaults.
     *
     * @param directory of this producer alone; made if it is not there; what it has from an earlier run is handed over first
     * @return a builder, for one thread
     */
    public static Builder builder(Path directory) {
        return new Builder(Checks.needed("spool.directory", directory));
    }

    /** Every method refuses a wrong value with a {@link KeyturnException} that names it and what is allowed. */
    public static final class Builder {
        private final Path directory;
        private Duration interval = Duration.ofMillis(50);
        private int count = 1_000;
        private long maxBytes = 256 * MIB;
        private Duration patience = Duration.ofSeconds(1);

        private Builder(Path directory) {
            this.directory = directory;
        }

        /**
         * What was written is synced after this.
         *
         * @param interval 1 ms to 1 min; unset: 50 ms
         * @return this
         */
        public Builder interval(Duration interval) {
            this.interval = Checks.within("spool.interval", interval, Duration.ofMillis(1), Duration.ofMinutes(1));
            return this;
        }

        /**
         * Or after so many items.
         *
         * @param items 1 to 100,000; unset: 1,000
         * @return this
         */
        public Builder count(int items) {
            count = (int) Checks.within("spool.count", items, 1, 100_000);
            return this;
        }

        /**
         * The most that the spool may take on disk; then {@code whenFull} applies.
         *
         * @param most bytes, 64 KiB to 1 TiB; unset: 256 MiB
         * @return this
         */
        public Builder maxBytes(long most) {
            maxBytes = Checks.within("spool.maxBytes", most, 65_536, MIB * MIB);
            return this;
        }

        /**
         * How long a Submit may go unanswered before the sidecar is taken to be away.
         *
         * @param patience 1 ms to 1 min; unset: 1 s
         * @return this
         */
        public Builder patience(Duration patience) {
            this.patience = Checks.within("spool.patience", patience, Duration.ofMillis(1), Duration.ofMinutes(1));
            return this;
        }

        /**
         * The options.
         *
         * @return they do not change any more
         */
        public SpoolOptions build() {
            return new SpoolOptions(new SpoolSettings(directory, interval, count, maxBytes, patience));
        }
    }
}
