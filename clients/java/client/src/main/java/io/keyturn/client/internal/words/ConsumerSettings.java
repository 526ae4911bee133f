package io.keyturn.client.internal.words;

import java.time.Duration;
import java.util.concurrent.Executor;

/**
 * How a consumer works.
 *
 * @param waiting how long one Acquire waits
 * @param lease null: kept by the session, else the queue's
 * @param maxHold null: no limit
 * @param consumerId empty: the client's
 * @param executor null: threads of the consumer
 */
public record ConsumerSettings(
        int concurrency,
        int maxItemsPerTurn,
        Duration waiting,
        Duration lease,
        Duration maxHold,
        Duration settleTimeout,
        String consumerId,
        boolean interrupts,
        Executor executor) {}
