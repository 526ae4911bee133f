package io.keyturn.client;

/** What has happened when an item of a durable queue is accepted, and so what a crash can lose. */
public enum ItemDurability {
    /** It is on the disk. */
    ON_FLUSH,
    /** It will be within the queue's {@code flush_interval}. */
    INTERVAL,
    /** The same, and sooner once the queue's {@code flush_count} changes wait. */
    COUNT,
    /** It is in memory only. */
    MEMORY
}
