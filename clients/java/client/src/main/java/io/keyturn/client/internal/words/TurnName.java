package io.keyturn.client.internal.words;

import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;

/** A turn by what finds it. */
public record TurnName(String queue, long token) {
    public static TurnName of(Turn turn) {
        return new TurnName(turn.getQueue(), turn.getToken());
    }

    public static TurnName of(TurnRef turn) {
        return new TurnName(turn.getQueue(), turn.getToken());
    }
}
