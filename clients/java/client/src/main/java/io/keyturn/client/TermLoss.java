package io.keyturn.client;

/** Why a term is lost. */
public enum TermLoss {
    /** The sidecar heard nothing for its ttl. */
    TTL,
    /** The inauguration took too long. */
    INAUGURATE_TIMEOUT,
    /** The hand-over took too long. */
    HAND_OVER_TIMEOUT,
    /** The sidecar does not know it, or another one lives. */
    UNKNOWN,
    /** By the clock of this process: the sidecar confirmed nothing for the ttl less the margin. */
    UNREACHABLE,
    /** The client was closed, or the time to stop was over. */
    CLOSED
}
