package io.keyturn.client;

import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;

/** A turn by what finds it. */
record TurnName(String queue, long token) {
    static TurnName of(Turn turn) {
        return new TurnName(turn.getQueue(), turn.getToken());
    }

    static TurnName of(TurnRef turn) {
        return new TurnName(turn.getQueue(), turn.getToken());
    }
}
