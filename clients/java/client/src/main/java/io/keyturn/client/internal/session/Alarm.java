package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.concurrent.ScheduledFuture;

/** One timer for all that a session waits for, set for the earliest moment. Of the loop. */
final class Alarm {
    private final Loop loop;
    private final Runnable wake;
    private ScheduledFuture<?> timer;
    private long at = Clock.NEVER;
    private boolean isOff;

    Alarm(Loop loop, Runnable wake) {
        this.loop = loop;
        this.wake = wake;
    }

    /** Cheap when it is set for an earlier moment already. */
    void by(long moment) {
        if (isOff || moment >= at) return;
        if (timer != null) timer.cancel(false);
        at = moment;
        timer = loop.after(moment - Clock.now(), this::ring);
    }

    /** For good. */
    void off() {
        isOff = true;
        if (timer != null) timer.cancel(false);
    }

    private void ring() {
        at = Clock.NEVER;
        wake.run();
    }
}
