package io.keyturn.client;

import java.time.Duration;

/** The local monotonic clock, in ns from an origin of this process, and what is reckoned with it. Nothing trusts another clock. */
final class Clock {
    /** Also as a duration: for ever. */
    static final long NEVER = Long.MAX_VALUE;

    static final long MS = 1_000_000;

    private static final long ORIGIN = System.nanoTime();

    private Clock() {}

    static long now() {
        return System.nanoTime() - ORIGIN;
    }

    /** Durations that no clock lives to see are for ever. */
    static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return NEVER;
        }
    }

    static long nanos(com.google.protobuf.Duration duration) {
        return nanos(Protos.duration(duration));
    }

    /** Never beyond {@link #NEVER}. */
    static long after(long now, long nanos) {
        return nanos >= NEVER - now ? NEVER : now + nanos;
    }
}
