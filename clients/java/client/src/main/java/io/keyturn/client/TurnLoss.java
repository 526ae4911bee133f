package io.keyturn.client;

/** Why a turn is not, or must not be taken for, ours any more. */
public enum TurnLoss {
    /** Its lease or {@code max_hold} ended. */
    LEASE_EXPIRED("its lease or max_hold ended"),
    /** A person evicted its holder. */
    EVICTED("its holder was evicted"),
    /** A caller that waited took it over. */
    TAKEN_OVER("a waiting caller took it over"),
    /** Somebody else settled it. */
    SETTLED("somebody else settled it"),
    /** The sidecar knows nothing of it. */
    UNKNOWN("the sidecar knows nothing of it"),
    /** Nothing was heard from the sidecar for so long that it may have ended. */
    UNREACHABLE("nothing was heard from the sidecar for so long that it may have ended"),
    /** Another client has the session. */
    REPLACED("another client has the session"),
    /** This client was closed. */
    CLOSED("the client was closed");

    private final String because;

    TurnLoss(String because) {
        this.because = because;
    }

    String because() {
        return because;
    }

    /** From what the sidecar tells; null when the turn lives. */
    static TurnLoss of(io.keyturn.v1.LossCause cause) {
        return switch (cause) {
            case LOSS_CAUSE_UNSPECIFIED -> null;
            case LOSS_CAUSE_LEASE_EXPIRED -> LEASE_EXPIRED;
            case LOSS_CAUSE_EVICTED -> EVICTED;
            case LOSS_CAUSE_TAKEN_OVER -> TAKEN_OVER;
            case LOSS_CAUSE_SETTLED -> SETTLED;
            case LOSS_CAUSE_UNKNOWN, UNRECOGNIZED -> UNKNOWN;
        };
    }

    /** From the metadata of an error. */
    static TurnLoss named(String cause) {
        for (TurnLoss loss : new TurnLoss[] {LEASE_EXPIRED, EVICTED, TAKEN_OVER, SETTLED}) {
            if (loss.name().equals(cause)) return loss;
        }
        return UNKNOWN;
    }
}
