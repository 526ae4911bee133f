package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;

/** A turn that the application was given on this session and has not settled. */
final class Given {
    final Turn turn;
    /** It lives as long as its session does. */
    final boolean tied;

    final String ticket;
    /** How many answers gave it: calls with its ticket are answered with it again. */
    int told = 1;
    /** NEVER ends: as long as the session is known to live. Else until this moment: a new stream did not tell of it. */
    long safeUntil = Clock.NEVER;
    /** Told lost for silence, its holders have until then to come to their end. */
    long endAt = Long.MIN_VALUE;
    /** A handler held it when silence ended it. */
    boolean wasInUse;
    /** Who holds it, here; usually one. */
    final List<Held> holders = new ArrayList<>(1);

    Given(Turn turn, boolean tied, String ticket) {
        this.turn = turn;
        this.tied = tied;
        this.ticket = ticket;
    }

    TurnName name() {
        return TurnName.of(turn);
    }
}
