package io.keyturn.client.internal.words;

import io.keyturn.client.Protos;
import java.time.Duration;

/** The local monotonic clock, in ns from an origin of this process, and what is reckoned with it. Nothing trusts another clock. */
public final class Clock {
    /** Also as a duration: for ever. */
    public static final long NEVER = Long.MAX_VALUE;

    public static final long MS = 1_000_000;

    /** The longest that one call may wait, ns: what the contract allows, and a queue's policy can ask for. */
    public static final long LONGEST_CALL = 300_000 * MS;

    /** A sidecar that answers at once though it was asked to wait is not asked in a busy loop, ns. */
    public static final long LEAST_BETWEEN = 50 * MS;

    private static final long ORIGIN = System.nanoTime();

    private Clock() {}

    public static long now() {
        return System.nanoTime() - ORIGIN;
    }

    /** Durations that no clock lives to see are for ever. */
    public static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return NEVER;
        }
    }

    public static long nanos(com.google.protobuf.Duration duration) {
        return nanos(Protos.duration(duration));
    }

    public static com.google.protobuf.Duration duration(long nanos) {
        return Protos.duration(Duration.ofNanos(nanos));
    }

    /** Never beyond {@link #NEVER}. */
    public static long after(long now, long nanos) {
        return nanos >= NEVER - now ? NEVER : now + nanos;
    }
}
