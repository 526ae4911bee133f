package io.keyturn.client;

/** What has happened when an item of a durable queue is accepted, and so what a crash can lose. */
public enum ItemDurability {
    /** It is on the disk. */
    ON_FLUSH(io.keyturn.v1.Durability.DURABILITY_ON_FLUSH),
    /** It will be within the queue's {@code flush_interval}. */
    INTERVAL(io.keyturn.v1.Durability.DURABILITY_INTERVAL),
    /** The same, and sooner once the queue's {@code flush_count} changes wait. */
    COUNT(io.keyturn.v1.Durability.DURABILITY_COUNT),
    /** It is in memory only. */
    MEMORY(io.keyturn.v1.Durability.DURABILITY_MEMORY);

    private final io.keyturn.v1.Durability wire;

    ItemDurability(io.keyturn.v1.Durability wire) {
        this.wire = wire;
    }

    static io.keyturn.v1.Durability wire(ItemDurability durability) {
        return durability == null ? io.keyturn.v1.Durability.DURABILITY_UNSPECIFIED : durability.wire;
    }
}
