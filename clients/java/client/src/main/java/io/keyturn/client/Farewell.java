package io.keyturn.client;

import java.util.concurrent.ScheduledFuture;

/** The last stream of a client that is closed: it may end in peace, for a while. Of the loop. */
final class Farewell {
    /** How long the sidecar may take to end the stream. */
    private static final long PATIENCE = 1_000 * Clock.MS;

    private final Loop loop;
    private Runnable end = () -> {};

    Farewell(Loop loop) {
        this.loop = loop;
    }

    /** Calls the task when nothing is left of the stream. */
    void begin(SessionStream last, Runnable done) {
        ScheduledFuture<?> late = loop.after(PATIENCE, this::over);
        end = () -> {
            end = () -> {};
            late.cancel(false);
            last.destroy();
            done.run();
        };
        last.end();
    }

    /** The stream has ended. */
    void over() {
        end.run();
    }
}
