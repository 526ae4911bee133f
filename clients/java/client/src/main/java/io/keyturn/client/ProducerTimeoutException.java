package io.keyturn.client;

import io.grpc.Status;
import java.time.Duration;

/** The item was not accepted in time. It may have been, if an answer was lost: submit it again with its id. */
public final class ProducerTimeoutException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** The id of the item. */
    private final String itemId;

    ProducerTimeoutException(String itemId, Duration timeout, Throwable cause) {
        super(
                "item " + itemId + " was not handed over within " + timeout.toMillis() + " ms",
                Status.Code.DEADLINE_EXCEEDED,
                cause);
        this.itemId = itemId;
    }

    /**
     * The id of the item.
     *
     * @return with it the item may be submitted again
     */
    public String itemId() {
        return itemId;
    }
}
