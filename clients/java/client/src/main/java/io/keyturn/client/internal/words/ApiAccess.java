package io.keyturn.client.internal.words;

import io.grpc.Status;
import io.keyturn.client.ErrorDetails;
import io.keyturn.client.ItemFailedException;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerFullException;
import io.keyturn.client.ProducerTimeoutException;
import io.keyturn.client.QueueItem;
import io.keyturn.client.RetryLaterException;
import io.keyturn.client.SpoolException;
import io.keyturn.client.SubmitOutcome;
import io.keyturn.client.TermLoss;
import io.keyturn.client.TermLostException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import io.keyturn.v1.NewItem;
import java.lang.invoke.MethodHandles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What only the package of the public API can do, and the client needs: exceptions that an application cannot make are made here,
 * and an item shows its message. {@link Failures} and {@link Items} ask for it; nobody else does.
 */
public abstract class ApiAccess {
    private static volatile ApiAccess granted;

    /** By the package of the API, once. */
    public static void grant(ApiAccess access) {
        if (granted != null) throw new IllegalStateException("the API has given its access");
        granted = access;
    }

    static ApiAccess api() {
        if (granted != null) return granted;
        try {
            // Its initializer grants it.
            MethodHandles.lookup().ensureInitialized(KeyturnException.class);
        } catch (IllegalAccessException notPublic) {
            throw new IllegalStateException(notPublic);
        }
        return granted;
    }

    /** {@code details}: null: none. */
    protected abstract KeyturnException failure(String message, Status.Code code, String reason, ErrorDetails details);

    /** {@code details}: null: none. */
    protected abstract TurnLostException lost(String message, TurnLoss loss, ErrorDetails details);

    protected abstract TermLostException termLost(String message, TermLoss loss);

    /** Both sides are there and disagree about TLS. {@code isForGood}: no connection ever came about. */
    protected abstract KeyturnException tls(String message, boolean isForGood);

    protected abstract boolean isTls(Throwable error);

    protected abstract boolean isTlsForGood(Throwable error);

    protected abstract KeyturnException itemFailed(
            String queue, String itemId, ItemFailedException.State state, String lastError, int attempt);

    protected abstract KeyturnException submitMany(Throwable cause, List<SubmitOutcome> results, List<QueueItem> rest);

    protected abstract ProducerClosedException producerClosed(String message);

    protected abstract ProducerFullException producerFull(String message);

    protected abstract ProducerTimeoutException producerTimeout(String itemId, Duration timeout, Throwable cause);

    protected abstract SpoolException spool(SpoolException.Problem problem, Path file, String what, Throwable cause);

    /** Null: the back-off of the queue. */
    protected abstract Duration delay(RetryLaterException wish);

    protected abstract QueueItem item(NewItem message);

    protected abstract NewItem message(QueueItem item);
}
