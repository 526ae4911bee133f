package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.internal.words.Clock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** S595: a process that stood still asks before it gives its turns up. */
final class StoodStillTest {
    private static final long SECOND = 1_000 * Clock.MS;
    private static final long TTL = 10 * SECOND;
    private static final long MARGIN = SECOND;

    private final Liveness liveness = new Liveness(TTL, ttl -> MARGIN);

    /** Woken long after its turns were to be given up. */
    private long wokeAt(long late) {
        liveness.busy(0);
        liveness.proved(0);
        long now = 3 * TTL;
        liveness.woke(now, late);
        return now;
    }

    @Test
    void itsTurnsAreSafeForASecondAndTheSidecarIsAsked() {
        long now = wokeAt(MARGIN + 1);
        assertEquals(now + SECOND, liveness.stopAt());
        assertEquals(now + SECOND, liveness.deadAt(0), "an answer is waited for on the same stream");
        assertTrue(liveness.asksForProof(now));
        assertEquals(now + SECOND, liveness.nextAt(0, true));
    }

    @Test
    void anAnswerMakesThemAsSafeAsBefore() {
        long now = wokeAt(2 * TTL);
        liveness.proved(now);
        assertEquals(now + TTL - MARGIN, liveness.stopAt());
    }

    @Test
    void whatIsWokenWithinTheMarginIsStoppedInTime() {
        long now = wokeAt(MARGIN);
        assertTrue(liveness.stopAt() < now);
    }

    @Test
    void oneThatIsWokenBeforeItsTurnsAreGivenUpStopsInTime() {
        liveness.busy(0);
        liveness.proved(0);
        liveness.woke(TTL - MARGIN - 1, 2 * MARGIN);
        assertEquals(TTL - MARGIN, liveness.stopAt());
    }

    @Test
    void oneThatIsLateAgainGivesUpWhenNothingWasHeardMeanwhile() {
        long now = wokeAt(2 * TTL);
        liveness.woke(now + SECOND, 2 * TTL);
        assertEquals(now + SECOND, liveness.stopAt());
    }

    @Test
    void anAlarmSaysHowLateItIs() throws Exception {
        Loop loop = new Loop(System.getLogger("test"));
        CompletableFuture<Long> late = new CompletableFuture<>();
        loop.execute(() -> {
            long due = Clock.now() + SECOND / 10;
            new Alarm(loop, late::complete).by(due);
            while (Clock.now() < due + SECOND / 5) Thread.onSpinWait();
        });
        assertTrue(late.get(30, TimeUnit.SECONDS) >= SECOND / 5);
        loop.shutdown();
    }

    @Test
    void whatIsDueAlreadyIsNotLate() throws Exception {
        Loop loop = new Loop(System.getLogger("test"));
        CompletableFuture<Long> late = new CompletableFuture<>();
        loop.execute(() -> new Alarm(loop, late::complete).by(Clock.now() - 1_000 * SECOND));
        assertFalse(late.get(30, TimeUnit.SECONDS) > 500 * SECOND);
        loop.shutdown();
    }
}
