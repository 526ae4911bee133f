package io.keyturn.client;

/**
 * How one call is made.
 *
 * @param timeout ns until it is given up; {@link #UNSET}: its wait and {@link #GRACE}
 * @param leave whoever cancels it gives up the place of its ticket too
 */
record CallTerms(long timeout, boolean leave) {
    static final long UNSET = 0;
    /** How long a call that does not wait may take before it is given up, ns. */
    static final long GRACE = 10_000 * Clock.MS;

    static final CallTerms DEFAULT = new CallTerms(UNSET, false);

    /** NEVER: as if nothing was said. */
    static CallTerms nanos(long timeout) {
        return timeout == Clock.NEVER ? DEFAULT : new CallTerms(Math.max(1, timeout), false);
    }

    /** The same, but whoever cancels gives up the ticket's place too. */
    CallTerms leaving() {
        return new CallTerms(timeout, true);
    }

    /** When a call that waits so long is given up, ns. */
    long deadline(long askedAt, long wait) {
        return Clock.after(askedAt, timeout == UNSET ? Clock.after(GRACE, wait) : timeout);
    }
}
