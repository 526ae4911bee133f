package io.keyturn.client.internal.words;

import io.keyturn.client.ItemDurability;
import io.keyturn.client.QueueItem;
import java.time.Duration;
import java.util.function.BiConsumer;

/**
 * How a producer works.
 *
 * @param waits what finds no room waits for it; false: it is refused
 * @param durability null: as the queue has it
 * @param onError is told of every item that was not handed over; without an item it concerns the spool as a whole
 * @param spool null: none
 */
public record ProducerSettings(
        int count,
        Duration interval,
        int maxItems,
        int maxBytes,
        boolean waits,
        Duration timeout,
        ItemDurability durability,
        BiConsumer<Throwable, QueueItem> onError,
        SpoolSettings spool) {}
