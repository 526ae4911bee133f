package io.keyturn.client.internal.words;

/**
 * How one call is made.
 *
 * @param timeout ns until it is given up; {@link #UNSET}: its wait and {@link #GRACE}
 * @param leave whoever cancels it gives up the place of its ticket too
 */
public record CallTerms(long timeout, boolean leave) {
    public static final long UNSET = 0;
    /** How long a call that does not wait may take before it is given up, ns. */
    public static final long GRACE = 10_000 * Clock.MS;

    public static final CallTerms DEFAULT = new CallTerms(UNSET, false);

    /** NEVER: as if nothing was said. */
    public static CallTerms nanos(long timeout) {
        return timeout == Clock.NEVER ? DEFAULT : new CallTerms(Math.max(1, timeout), false);
    }

    /** The same, but whoever cancels gives up the ticket's place too. */
    public CallTerms leaving() {
        return new CallTerms(timeout, true);
    }

    /** When a call that waits so long is given up, ns. */
    public long deadline(long askedAt, long wait) {
        return Clock.after(askedAt, timeout == UNSET ? Clock.after(GRACE, wait) : timeout);
    }
}
