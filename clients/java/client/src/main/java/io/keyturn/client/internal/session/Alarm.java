package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.concurrent.ScheduledFuture;
import java.util.function.LongConsumer;

/** One timer for all that a session waits for, set for the earliest moment. Of the loop. */
final class Alarm {
    private final Loop loop;
    private final LongConsumer wake;
    private ScheduledFuture<?> timer;
    private long at = Clock.NEVER;
    private boolean isOff;

    /** {@code wake}: gets by how much it rings too late, ns. */
    Alarm(Loop loop, LongConsumer wake) {
        this.loop = loop;
        this.wake = wake;
    }

    /** Cheap when it is set for an earlier moment already. */
    void by(long moment) {
        if (isOff || moment >= at) return;
        if (timer != null) timer.cancel(false);
        at = moment;
        long now = Clock.now();
        // What is due already is not late: it is not the process that stood still.
        long due = Math.max(moment, now);
        timer = loop.after(due - now, () -> ring(due));
    }

    /** For good. */
    void off() {
        isOff = true;
        if (timer != null) timer.cancel(false);
    }

    private void ring(long due) {
        at = Clock.NEVER;
        wake.accept(Clock.now() - due);
    }
}
