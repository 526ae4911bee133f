package io.keyturn.client;

import java.nio.file.Path;
import java.time.Duration;

/**
 * Where items wait on disk while the sidecar cannot be reached.
 *
 * @param directory of this producer alone; made if it is not there; what it has from an earlier run is handed over first
 * @param interval what was written is synced after this, 1 ms to 1 min
 * @param count or after so many items, 1 to 100,000
 * @param maxBytes the most that the spool may take on disk, 64 KiB to 1 TiB; then {@code whenFull} applies
 * @param patience how long a Submit may go unanswered before the sidecar is taken to be away, 1 ms to 1 min
 */
public record SpoolOptions(Path directory, Duration interval, int count, long maxBytes, Duration patience) {
    private static final long MIB = 1_048_576;

    /**
     * Refuses what is not allowed, with its name.
     *
     * @param directory of this producer alone; made if it is not there; what it has from an earlier run is handed over first
     * @param interval what was written is synced after this, 1 ms to 1 min
     * @param count or after so many items, 1 to 100,000
     * @param maxBytes the most that the spool may take on disk, 64 KiB to 1 TiB; then {@code whenFull} applies
     * @param patience how long a Submit may go unanswered before the sidecar is taken to be away, 1 ms to 1 min
     */
    public SpoolOptions {
        Checks.needed("spool.directory", directory);
        Checks.within("spool.interval", interval, Duration.ofMillis(1), Duration.ofMinutes(1));
        Checks.within("spool.count", count, 1, 100_000);
        Checks.within("spool.maxBytes", maxBytes, 65_536, MIB * MIB);
        Checks.within("spool.patience", patience, Duration.ofMillis(1), Duration.ofMinutes(1));
    }

    /**
     * A spool with the defaults: synced after 50 ms or 1,000 items, up to 256 MiB, patience of 1 s.
     *
     * @param directory of this producer alone
     * @return the options
     */
    public static SpoolOptions in(Path directory) {
        return new SpoolOptions(directory, Duration.ofMillis(50), 1_000, 256 * MIB, Duration.ofSeconds(1));
    }

    /**
     * Synced at other times.
     *
     * @param interval after this
     * @param count or after so many items
     * @return other options
     */
    public SpoolOptions withSync(Duration interval, int count) {
        return new SpoolOptions(directory, interval, count, maxBytes, patience);
    }

    /**
     * With another size.
     *
     * @param most bytes on disk
     * @return other options
     */
    public SpoolOptions withMaxBytes(long most) {
        return new SpoolOptions(directory, interval, count, most, patience);
    }

    /**
     * With another patience.
     *
     * @param limit how long a Submit may go unanswered
     * @return other options
     */
    public SpoolOptions withPatience(Duration limit) {
        return new SpoolOptions(directory, interval, count, maxBytes, limit);
    }
}
