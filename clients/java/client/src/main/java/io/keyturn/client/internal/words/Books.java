package io.keyturn.client.internal.words;

import io.keyturn.client.TurnLoss;
import io.keyturn.v1.Turn;

/** What a transport does with what an answer tells of turns. */
public interface Books {
    /** The turn was given. {@code tied}: asked for without a lease of its own. */
    void given(Turn turn, boolean tied, String ticket);

    /** Nobody will learn that this turn was given. {@code ticket}: not empty, with it the same turn may still be asked for. */
    void undelivered(Turn turn, String ticket);

    /** It was ended by its token, or (0) by its ticket. */
    void settled(String queue, String key, long token, String ticket);

    void lost(TurnName turn, TurnLoss loss);
}
