package io.keyturn.client.internal.words;

import java.time.Duration;

/**
 * How a turn is asked for and held.
 *
 * @param waiting null: the queue's
 * @param isStrict every call gets its turn, in the order of arrival
 * @param lease null: kept by the session, else the queue's
 * @param maxHold null: no limit
 * @param idempotencyKey empty: none
 * @param consumerId empty: the client's
 * @param interrupts the thread that holds the turn is interrupted when it is lost
 */
public record TurnSettings(
        Duration waiting,
        boolean isStrict,
        Duration lease,
        Duration maxHold,
        String idempotencyKey,
        String consumerId,
        boolean interrupts) {}
