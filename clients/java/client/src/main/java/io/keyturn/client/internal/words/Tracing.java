package io.keyturn.client.internal.words;

import io.keyturn.client.DeliveredItem;
import io.keyturn.client.QueueItem;
import io.keyturn.v1.Turn;
import java.util.List;

/** Whoever traces what a client does. None of it throws. */
public interface Tracing {
    /** Nobody traces. */
    Tracing NONE = new Tracing() {};

    /** With the context that is active in this thread in its headers; the item itself when none is, or its caller gave one. */
    default QueueItem stamped(QueueItem item) {
        return item;
    }

    /** Begins the span of an attempt. */
    default TraceSpan attempt(Turn turn, List<DeliveredItem> items) {
        return TraceSpan.NONE;
    }

    /** Begins the span of a turn that a caller asks for, below that of the caller. */
    default TraceSpan turn(String queue, String key) {
        return TraceSpan.NONE;
    }
}
