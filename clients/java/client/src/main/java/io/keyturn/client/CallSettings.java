package io.keyturn.client;

import java.time.Duration;

/**
 * How one raw call is made. Cancelling the future that the call gave ends it: a caller that waits without a ticket leaves its
 * line, one with a ticket keeps its place.
 *
 * @param timeout until the call is given up ({@code DEADLINE_EXCEEDED}), answered or not, connected or not; null: its wait and 10 s
 * @param leave when it is cancelled the place of its ticket is given up too
 */
public record CallSettings(Duration timeout, boolean leave) {
    /** Nothing said. */
    public static final CallSettings DEFAULT = new CallSettings(null, false);

    /**
     * Refuses what is not positive.
     *
     * @param timeout until the call is given up ({@code DEADLINE_EXCEEDED}), answered or not, connected or not; null: its wait and 10 s
     * @param leave when it is cancelled the place of its ticket is given up too
     */
    public CallSettings {
        if (timeout != null && (timeout.isNegative() || timeout.isZero())) {
            throw Failures.wrong("timeout is " + timeout + "; allowed is a duration above zero");
        }
    }

    /**
     * With a time-out.
     *
     * @param timeout until the call is given up
     * @return the settings
     */
    public static CallSettings timeout(Duration timeout) {
        return new CallSettings(Checks.needed("timeout", timeout), false);
    }

    /**
     * The same, but cancelling gives up the ticket's place too.
     *
     * @return other settings
     */
    public CallSettings leaving() {
        return new CallSettings(timeout, true);
    }

    static CallSettings nanos(long timeout) {
        return timeout == Clock.NEVER ? DEFAULT : new CallSettings(Duration.ofNanos(Math.max(1, timeout)), false);
    }
}
