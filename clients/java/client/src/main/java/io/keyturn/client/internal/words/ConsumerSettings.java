package io.keyturn.client.internal.words;

import io.keyturn.client.Protos;
import io.keyturn.v1.AcquireRequest;
import java.time.Duration;
import java.util.List;
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
        Executor executor) {
    /** With a ticket that all its tries have: turns whose answer was lost are in the next one. */
    public AcquireRequest acquire(List<String> queues, int turns, String ticket) {
        AcquireRequest.Builder request = AcquireRequest.newBuilder()
                .addAllQueues(queues)
                .setMaxTurns(turns)
                .setMaxItemsPerTurn(maxItemsPerTurn)
                .setWait(Protos.duration(waiting))
                .setConsumerId(consumerId)
                .setTicket(ticket);
        if (lease != null) request.setLease(Protos.duration(lease));
        return request.build();
    }
}
