package io.keyturn.client.internal.produce;

import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerResult;
import io.keyturn.client.ProducerTimeoutException;
import io.keyturn.client.QueueItem;
import java.util.Collection;
import java.util.List;
import java.util.function.LongSupplier;

/** What becomes of entries, told by the routes that they take to the one who has them. Each is resolved or rejected, once. */
interface Settling {
    /** In order, one result for each. */
    void resolve(List<Entry> entries, List<ProducerResult> results);

    void reject(Collection<Entry> entries, Throwable error);

    /** It settles nothing. {@code item}: null: it concerns the spool as a whole. */
    void tellTrouble(Throwable error, QueueItem item);

    ProducerTimeoutException timedOut(Entry entry, Throwable cause);

    /** Null: it goes on. */
    ProducerClosedException givenUp();

    /** In the producer's thread: until something changed, or this moment. */
    void pauseUntil(LongSupplier at);

    /** Something changed that the thread may wait for. */
    void wake();
}
