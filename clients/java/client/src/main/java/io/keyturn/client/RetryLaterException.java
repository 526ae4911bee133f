package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import java.time.Duration;

/** Try again; the attempt counts. */
public final class RetryLaterException extends GivenBackException {
    private static final long serialVersionUID = 1;

    /** After which it is tried again; null: the back-off of the queue. */
    private final Duration delay;

    /** After the queue's back-off. */
    public RetryLaterException() {
        this(null, "the handler asked for a retry", null, 0);
    }

    /**
     * After this delay.
     *
     * @param delay up to 30 days
     */
    public RetryLaterException(Duration delay) {
        this(delay, "the handler asked for a retry", null, 0);
    }

    /**
     * With everything.
     *
     * @param delay up to 30 days; null: the queue's back-off
     * @param message what went wrong, kept as the item's last error
     * @param cause may be null
     * @param done how many items from the first are finished nevertheless
     */
    public RetryLaterException(Duration delay, String message, Throwable cause, int done) {
        super(message, cause, done);
        if (delay != null) Checks.within("delay", delay, Duration.ZERO, Duration.ofDays(30));
        this.delay = delay;
    }

    /** Null: the back-off of the queue. */
    Duration delay() {
        return delay;
    }
}
