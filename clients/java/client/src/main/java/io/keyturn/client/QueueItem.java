package io.keyturn.client;

import com.google.protobuf.ByteString;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.v1.AfterUnknown;
import io.keyturn.v1.NewItem;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A message to be kept until a worker takes it. It does not change: each {@code with…} gives another one. */
public final class QueueItem {
    private final NewItem item;

    QueueItem(NewItem item) {
        this.item = item;
    }

    /**
     * A message.
     *
     * @param key empty: no order, no exclusion
     * @param payload up to 1 MiB
     * @return the item
     */
    public static QueueItem of(String key, byte[] payload) {
        return new QueueItem(NewItem.newBuilder()
                .setKey(Checks.unicode("key", key))
                .setPayload(ByteString.copyFrom(Checks.needed("payload", payload)))
                .build());
    }

    /**
     * A message that is a text.
     *
     * @param key empty: no order, no exclusion
     * @param payload up to 1 MiB of UTF-8
     * @return the item
     */
    public static QueueItem of(String key, String payload) {
        return of(key, Checks.unicode("payload", payload).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * With an id of your own: sent again with it, it is not a second message.
     *
     * @param itemId up to 256 bytes, unique in its queue; unset: the client makes one
     * @return another item
     */
    public QueueItem withItemId(String itemId) {
        return new QueueItem(item.toBuilder().setItemId(Checks.unicode("itemId", Checks.id("itemId", itemId))).build());
    }

    /**
     * With your business id: once done, it is not done again while that is remembered.
     *
     * @param key up to 256 bytes
     * @return another item
     */
    public QueueItem withIdempotencyKey(String key) {
        return new QueueItem(item.toBuilder()
                .setIdempotencyKey(Checks.unicode("idempotencyKey", Checks.id("idempotencyKey", key)))
                .build());
    }

    /**
     * With these headers instead of others.
     *
     * @param headers up to 64, 8 KiB together
     * @return another item
     */
    public QueueItem withHeaders(Map<String, String> headers) {
        Checks.needed("headers", headers).forEach((name, value) -> {
            Checks.unicode("headers", name);
            Checks.unicode("headers", value);
        });
        return new QueueItem(item.toBuilder().clearHeaders().putAllHeaders(headers).build());
    }

    /**
     * Not before this has passed. It holds its key: later entries of the key wait too.
     *
     * @param delay up to 30 days
     * @return another item
     */
    public QueueItem withDelay(Duration delay) {
        Checks.within("delay", delay, Duration.ZERO, Duration.ofDays(30));
        return new QueueItem(item.toBuilder().setDelay(Protos.duration(delay)).build());
    }

    /**
     * Not before these are done. Until then it holds its key, as a delay does.
     *
     * @param items of any queues, up to 100, each once
     * @return another item
     */
    public QueueItem withAfter(List<Prerequisite> items) {
        NewItem.Builder builder = item.toBuilder().clearAfter();
        for (Prerequisite ref : Checks.needed("items", items)) {
            builder.addAfter(io.keyturn.v1.ItemRef.newBuilder().setQueue(ref.queue()).setItemId(ref.itemId()));
        }
        return new QueueItem(builder.build());
    }

    /**
     * If nothing is known of one of those it waits until such an item is submitted and done, instead of being refused.
     *
     * @return another item
     */
    public QueueItem waitingForUnknown() {
        return new QueueItem(item.toBuilder().setAfterUnknown(AfterUnknown.AFTER_UNKNOWN_WAIT).build());
    }

    /**
     * The id of the item.
     *
     * @return empty: it has none yet
     */
    public String itemId() {
        return item.getItemId();
    }

    /**
     * The key of the item.
     *
     * @return empty: no order, no exclusion
     */
    public String key() {
        return item.getKey();
    }

    /**
     * The message.
     *
     * @return a copy
     */
    public byte[] payload() {
        return item.getPayload().toByteArray();
    }

    NewItem message() {
        return item;
    }
}
