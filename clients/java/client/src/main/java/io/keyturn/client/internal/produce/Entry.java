package io.keyturn.client.internal.produce;

import io.keyturn.client.ProducerResult;
import io.keyturn.client.QueueItem;
import io.keyturn.client.internal.session.CallFuture;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Items;

/** An item on its way, and the future of what becomes of it. */
final class Entry {
    final QueueItem item;
    final int size;
    final long since = Clock.now();
    /** Not tried any more after this. */
    final long deadline;

    final CallFuture<ProducerResult> future = new CallFuture<>();

    Entry(QueueItem item, long timeout) {
        this.item = item;
        this.size = Items.size(item);
        this.deadline = Clock.after(since, timeout);
    }
}
