package io.keyturn.client;

/** What a worker does with the items of a turn. */
@FunctionalInterface
public interface WorkHandler {
    /**
     * Does the work, in a thread of the consumer. When it returns the items are done. When the turn is lost, {@code maxHold} is
     * over, or a stop runs out of time its thread is interrupted: stop then.
     *
     * @param work the turn with its items
     * @throws Exception the items are given back: as a {@link GivenBackException} says, else for a retry with the queue's back-off
     */
    void handle(Work work) throws Exception;
}
