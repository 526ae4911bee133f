package io.keyturn.client.internal.session;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Books;
import io.keyturn.client.internal.words.CallTerms;
import io.keyturn.client.internal.words.Kinds;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.client.internal.words.TurnRequests;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.Turn;

/** Without a session: turns of which nobody will learn are given back by a call of their own. Nothing else is booked. */
record UntoldTurns(Transport transport) implements Books {
    @Override
    public void undelivered(Turn turn, String ticket) {
        // With its ticket it may be asked for again; until then its lease bounds it.
        if (!ticket.isEmpty()) return;
        NackRequest request = TurnRequests.release(TurnRequests.refOf(turn));
        transport.askOwn(Kinds.NACK, request, CallTerms.GRACE);
    }

    @Override
    public void given(Turn turn, boolean tied, String ticket) {}

    @Override
    public void settled(String queue, String key, long token, String ticket) {}

    @Override
    public void lost(TurnName turn, TurnLoss loss) {}
}
