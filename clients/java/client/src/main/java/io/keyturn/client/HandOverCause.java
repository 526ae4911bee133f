package io.keyturn.client;

/** Why a leader is asked to hand over. */
public enum HandOverCause {
    /** Its work returned, or it was asked by its {@code Leadership}. */
    YIELD,
    /** A person asked for it. */
    OPERATOR,
    /** The sidecar ends, and knows nothing of the term afterwards. */
    DRAIN
}
