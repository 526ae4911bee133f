package io.keyturn.client.internal.words;

import io.keyturn.v1.NackKind;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;

/** What is said of a turn that somebody has. */
public final class TurnRequests {
    /** The most turns that one Renew may name. */
    public static final int MOST_RENEWED = 1_000;

    private TurnRequests() {}

    public static TurnRef refOf(Turn turn) {
        return TurnRef.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken())
                .build();
    }

    public static NackRequest.Builder nack(TurnRef turn, NackKind kind) {
        return NackRequest.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken())
                .setKind(kind);
    }

    /** As if it had not been given. */
    public static NackRequest release(TurnRef turn) {
        return nack(turn, NackKind.NACK_KIND_RELEASE).build();
    }
}
