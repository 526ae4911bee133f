package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait before the next try: exponential with full jitter, so that many clients of a sidecar that comes back do not
 * come together. Of one thread at a time.
 */
public final class BackOff {
    private static final long FIRST = 50 * Clock.MS;
    private static final long LONGEST = 5_000 * Clock.MS;

    private final long longest;
    private long ceiling = FIRST;

    public BackOff() {
        this(LONGEST);
    }

    public BackOff(long longest) {
        this.longest = longest;
    }

    /** @param atLeast what the sidecar asked for, ns: the jitter comes on top of it */
    public long next(long atLeast) {
        long jitter = ThreadLocalRandom.current().nextLong(ceiling);
        ceiling = Math.min(2 * ceiling, longest);
        // Never 0: a failure that comes at once must not make a busy loop.
        return Clock.after(atLeast, Math.max(Clock.MS, jitter));
    }

    /** After a success. */
    public void reset() {
        ceiling = FIRST;
    }
}
