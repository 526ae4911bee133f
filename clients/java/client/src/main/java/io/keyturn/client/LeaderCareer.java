package io.keyturn.client;

/** What a worker does in each phase in which it leads. Its thread is interrupted when the term is lost. */
@FunctionalInterface
public interface LeaderCareer {
    /**
     * Prepares: load the state that the predecessor left, take over offsets. Nobody else leads, and this one does not work yet.
     *
     * @param term which has the predecessor
     * @throws Exception ends the term: the worker is asked again after a back-off only
     */
    default void inaugurate(LeaderTerm term) throws Exception {}

    /**
     * Works, until {@link LeaderTerm#isStopping}. To return is to hand over.
     *
     * @param term its number is the fencing token
     * @throws Exception hands over too, and the worker is asked again after a back-off only
     */
    void execute(LeaderTerm term) throws Exception;

    /**
     * After {@link #execute} has ended, if the term is not lost.
     *
     * @param term {@link LeaderTerm#timeLeft} says how long this may take
     * @param cause why
     * @return what the successor is given, up to 64 KiB; null: nothing
     * @throws Exception the successor is told that this one was lost
     */
    default byte[] handOver(LeaderTerm term, HandOverCause cause) throws Exception {
        return null;
    }
}
