package io.keyturn.client;

/**
 * The coordinator of a queue's workers, as the article "Distributed queue programming: optimization" has it: a worker asks before
 * it processes a message, and tells when it has.
 *
 * @param <T> what a message is known by
 */
public interface QueueCoordinator<T> {
    /**
     * Asks whether to process a key. Blocks while somebody else processes it and nobody else waits.
     *
     * @param key the key of the message
     * @return true: process it now; false: drop the message, somebody who waits already will do
     */
    boolean enQueue(T key);

    /**
     * Ends the turn of a key that {@link #enQueue} gave.
     *
     * @param key the same
     */
    void deQueue(T key);
}
