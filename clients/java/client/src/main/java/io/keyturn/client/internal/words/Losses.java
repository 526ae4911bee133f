package io.keyturn.client.internal.words;

import io.keyturn.client.TurnLoss;
import io.keyturn.v1.LossCause;
import java.util.EnumSet;
import java.util.Set;

/** Why a turn is lost, in the words of the sidecar and for people. */
public final class Losses {
    /** What the sidecar names in the metadata of an error. */
    private static final Set<TurnLoss> NAMED =
            EnumSet.of(TurnLoss.LEASE_EXPIRED, TurnLoss.EVICTED, TurnLoss.TAKEN_OVER, TurnLoss.SETTLED);

    private Losses() {}

    public static TurnLoss of(LossCause cause) {
        return switch (cause) {
            case LOSS_CAUSE_LEASE_EXPIRED -> TurnLoss.LEASE_EXPIRED;
            case LOSS_CAUSE_EVICTED -> TurnLoss.EVICTED;
            case LOSS_CAUSE_TAKEN_OVER -> TurnLoss.TAKEN_OVER;
            case LOSS_CAUSE_SETTLED -> TurnLoss.SETTLED;
            case LOSS_CAUSE_UNKNOWN, LOSS_CAUSE_UNSPECIFIED, UNRECOGNIZED -> TurnLoss.UNKNOWN;
        };
    }

    /** From the metadata of an error. */
    static TurnLoss named(String cause) {
        for (TurnLoss loss : NAMED) if (loss.name().equals(cause)) return loss;
        return TurnLoss.UNKNOWN;
    }

    static String because(TurnLoss loss) {
        return switch (loss) {
            case LEASE_EXPIRED -> "its lease or max_hold ended";
            case EVICTED -> "its holder was evicted";
            case TAKEN_OVER -> "a waiting caller took it over";
            case SETTLED -> "somebody else settled it";
            case UNKNOWN -> "the sidecar knows nothing of it";
            case UNREACHABLE -> "nothing was heard from the sidecar for so long that it may have ended";
            case REPLACED -> "another client has the session";
            case CLOSED -> "the client was closed";
        };
    }
}
