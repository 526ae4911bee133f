package io.keyturn.client;

import io.grpc.Status;
import io.keyturn.client.internal.words.ApiAccess;
import io.keyturn.v1.NewItem;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** What this package does for the rooms below it, because its constructors are not public. */
final class GrantedAccess extends ApiAccess {
    @Override
    protected KeyturnException failure(String message, Status.Code code, String reason, ErrorDetails details) {
        return switch (code) {
            case UNAUTHENTICATED -> new UnauthenticatedException(message, reason, details);
            case PERMISSION_DENIED -> new PermissionDeniedException(message, reason, details);
            default -> new KeyturnException(message, code, reason, details);
        };
    }

    @Override
    protected TurnLostException lost(String message, TurnLoss loss, ErrorDetails details) {
        return new TurnLostException(message, loss, details);
    }

    @Override
    protected TermLostException termLost(String message, TermLoss loss) {
        return new TermLostException(message, loss);
    }

    @Override
    protected KeyturnException tls(String message, boolean isForGood) {
        return new TlsException(message, isForGood);
    }

    @Override
    protected boolean isTls(Throwable error) {
        return error instanceof TlsException;
    }

    @Override
    protected boolean isTlsForGood(Throwable error) {
        return error instanceof TlsException tls && tls.isForGood();
    }

    @Override
    protected KeyturnException itemFailed(
            String queue, String itemId, ItemFailedException.State state, String lastError, int attempt) {
        return new ItemFailedException(queue, itemId, state, lastError, attempt);
    }

    @Override
    protected KeyturnException submitMany(Throwable cause, List<SubmitOutcome> results, List<QueueItem> rest) {
        return new SubmitManyException(cause, results, rest);
    }

    @Override
    protected ProducerClosedException producerClosed(String message) {
        return new ProducerClosedException(message);
    }

    @Override
    protected ProducerFullException producerFull(String message) {
        return new ProducerFullException(message);
    }

    @Override
    protected ProducerTimeoutException producerTimeout(String itemId, Duration timeout, Throwable cause) {
        return new ProducerTimeoutException(itemId, timeout, cause);
    }

    @Override
    protected SpoolException spool(SpoolException.Problem problem, Path file, String what, Throwable cause) {
        return new SpoolException(problem, file, what, cause);
    }

    @Override
    protected Duration delay(RetryLaterException wish) {
        return wish.delay();
    }

    @Override
    protected QueueItem item(NewItem message) {
        return new QueueItem(message);
    }

    @Override
    protected NewItem message(QueueItem item) {
        return item.message();
    }
}
