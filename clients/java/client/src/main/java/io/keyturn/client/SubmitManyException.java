package io.keyturn.client;

import io.keyturn.client.internal.words.Failures;
import java.util.List;

/** Some messages of a {@link Keyturn#submitMany} were accepted before one failed, which is the cause. */
public final class SubmitManyException extends KeyturnException {
    private static final long serialVersionUID = 1;

    private final transient List<SubmitOutcome> results;
    private final transient List<QueueItem> rest;

    SubmitManyException(Throwable cause, List<SubmitOutcome> results, List<QueueItem> rest) {
        super(
                results.size() + " items were handed over, " + rest.size() + " were not: " + Failures.messageOf(cause),
                KeyturnException.of(cause).code(),
                KeyturnException.of(cause).reason(),
                KeyturnException.of(cause).details());
        initCause(cause);
        this.results = results;
        this.rest = rest;
    }

    /**
     * Of the first items, in order: these are settled.
     *
     * @return one for each
     */
    public List<SubmitOutcome> results() {
        return results;
    }

    /**
     * The items after them, with their ids. A first part may have been accepted: to send them again is safe.
     *
     * @return in order
     */
    public List<QueueItem> rest() {
        return rest;
    }
}
