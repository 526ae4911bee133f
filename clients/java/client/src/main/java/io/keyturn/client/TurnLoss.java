package io.keyturn.client;

/** Why a turn is not, or must not be taken for, ours any more. */
public enum TurnLoss {
    /** Its lease or {@code max_hold} ended. */
    LEASE_EXPIRED,
    /** A person evicted its holder. */
    EVICTED,
    /** A caller that waited took it over. */
    TAKEN_OVER,
    /** Somebody else settled it. */
    SETTLED,
    /** The sidecar knows nothing of it. */
    UNKNOWN,
    /** Nothing was heard from the sidecar for so long that it may have ended. */
    UNREACHABLE,
    /** Another client has the session. */
    REPLACED,
    /** This client was closed. */
    CLOSED
}
