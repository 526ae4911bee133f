package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.concurrent.ScheduledFuture;

/**
 * The last moments of a session. What was called off may have been answered already, so the stream stays until the outcome of
 * everything is known: a turn that crossed the calling off is given back, and does not block its key for the ttl. Of the loop.
 */
final class Farewell {
    /** How long outcomes are waited for. */
    private static final long OUTCOMES = 1_000 * Clock.MS;
    /** How long the sidecar may take to end the stream. */
    private static final long PATIENCE = 1_000 * Clock.MS;

    private final Loop loop;
    private SessionStream last;
    private ScheduledFuture<?> timer;
    private Runnable end = () -> {};

    Farewell(Loop loop) {
        this.loop = loop;
    }

    /** @param late outcomes are waited for no more; {@code done}: nothing is left of the stream */
    void begin(SessionStream stream, Runnable late, Runnable done) {
        last = stream;
        timer = loop.after(OUTCOMES, late);
        end = () -> {
            end = () -> {};
            timer.cancel(false);
            last.destroy();
            done.run();
        };
    }

    /** Every outcome is known, or waited for no more: the sidecar ends the stream. */
    void end() {
        timer.cancel(false);
        timer = loop.after(PATIENCE, this::over);
        last.end();
    }

    /** The stream has ended. */
    void over() {
        end.run();
    }
}
