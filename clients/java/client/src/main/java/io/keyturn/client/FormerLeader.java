package io.keyturn.client;

/**
 * The last one that was inaugurated.
 *
 * @param candidateId who
 * @param term the number of its term
 * @param ended how that ended
 * @param state what the last hand-over left, by whomever
 */
public record FormerLeader(String candidateId, long term, Ended ended, byte[] state) {
    /** How a term ended. */
    public enum Ended {
        /** Nobody is known to have led before. */
        NONE,
        /** The leader handed over. */
        HANDED_OVER,
        /** The leader was lost: it may have stopped in the middle of its work. */
        LOST
    }
}
