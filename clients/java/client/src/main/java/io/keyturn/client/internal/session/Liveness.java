package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.function.LongUnaryOperator;

/**
 * Until when the sidecar is known to keep the session.
 *
 * <p>What was sent at some moment and is answered was taken after that moment, on a stream that stood then; the session
 * outlives the stream by {@code ttl}. So it lives at least until the send time of the last answered command, plus {@code ttl}.
 * Nothing else is known: a stream that looks whole may have been broken on the other side for long.
 */
final class Liveness {
    /** A connection takes its time: one that is slower than a very short ttl is not dead for it. */
    private static final long LEAST_DEAD = 1_000 * Clock.MS;

    /** So long a process that stood still waits for a proof before it gives its turns up. */
    private static final long ASK = 1_000 * Clock.MS;

    /** Long before everything, and far from an overflow. */
    private static final long LONG_AGO = Long.MIN_VALUE / 2;

    private final LongUnaryOperator marginOf;
    private long ttl;
    /** When the last answered command was sent. */
    private long provedAt = LONG_AGO;
    /** Since when there is anything that needs proof. */
    private long busySince = Clock.NEVER;
    /** Nothing is given up before this moment. */
    private long asksUntil = LONG_AGO;
    /** The proof after which that was set. */
    private long askedAfter = Clock.NEVER;
    /** A proof is asked for, and did not come yet. */
    private boolean proving;

    Liveness(long ttl, LongUnaryOperator marginOf) {
        this.ttl = ttl;
        this.marginOf = marginOf;
    }

    /** The sidecar has the last word. */
    void ttl(long ns) {
        ttl = ns;
    }

    /** How long before the end of their life the holders of turns are told to stop. */
    long margin() {
        return marginOf.applyAsLong(ttl);
    }

    void proved(long sentAt) {
        if (sentAt > provedAt) provedAt = sentAt;
    }

    /**
     * The process was woken so much later than it should have been, ns: it was suspended, or its machine was busy. What comes later
     * than the margin, and than the moment at which holders get the loss, comes too late to stop anybody in time, so the sidecar is asked
     * first: it may have kept everything. Once in a silence: a process that is always late would give up nothing.
     */
    void woke(long now, long late) {
        boolean isTooLate = late > margin() && now >= provedAt + ttl - margin();
        if (!isTooLate || askedAfter == provedAt) return;
        asksUntil = now + ASK;
        askedAfter = provedAt;
    }

    /** There is something to lose from now on; before, silence meant nothing. */
    void busy(long now) {
        if (busySince > now) busySince = now;
    }

    void idle() {
        busySince = Clock.NEVER;
    }

    /** When the holders of turns are told to stop. */
    long stopAt() {
        return Math.max(provedAt + ttl - margin(), asksUntil);
    }

    /** When a proof is to be asked for: after a third of the ttl. */
    private long proveAt() {
        return Clock.after(heard(), ttl / 3);
    }

    /** When the stream is taken for dead. {@code since}: when it began: an older silence is not its fault. */
    long deadAt(long since) {
        return Math.max(Clock.after(Math.max(heard(), since), Math.max(ttl / 3 * 2, LEAST_DEAD)), asksUntil);
    }

    /** Whether a proof is to be asked for now; then it is on its way. */
    boolean asksForProof(long now) {
        if (proving || now < proveAt()) return false;
        proving = true;
        return true;
    }

    /** It came, or it comes no more: its stream is gone. */
    void proofIsOver() {
        proving = false;
    }

    /** When silence is to be looked at, on a stream that began then. */
    long nextAt(long since, boolean isReady) {
        long dead = deadAt(since);
        return isReady && !proving ? Math.min(dead, proveAt()) : dead;
    }

    private long heard() {
        return Math.max(provedAt, busySince);
    }
}
