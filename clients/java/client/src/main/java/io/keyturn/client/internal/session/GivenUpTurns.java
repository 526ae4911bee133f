package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.v1.TurnRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Tied turns of which their holders were told that they are lost, though the session may have them still. They were delivered, so no
 * open call waits for them. One that the session has is given back when its holder has ended, at the latest a margin after it was
 * told, so that nobody else begins beside a holder who is stopping. Of the loop.
 */
final class GivenUpTurns {
    /** More are not remembered, and wait as those do of which nobody learnt. */
    private static final int MOST = 100_000;
    /** A hello names no more turns than that. */
    private static final int MOST_TOLD = 10_000;

    private final LongSupplier margin;
    private final Consumer<Given> giveBack;
    private final Map<TurnName, Given> turns = new HashMap<>();
    /** Those of them that the session has, and whose holders have not come to their end. */
    private final Set<Given> stopping = new HashSet<>();

    GivenUpTurns(LongSupplier margin, Consumer<Given> giveBack) {
        this.margin = margin;
        this.giveBack = giveBack;
    }

    /** Its holders are told now. */
    void add(Given given) {
        given.wasInUse = !given.holders.isEmpty();
        if (turns.size() >= MOST) return;
        given.endAt = Clock.after(Clock.now(), margin.getAsLong());
        turns.put(given.name(), given);
    }

    /** Null: it is none of them. */
    Given find(TurnName name) {
        return turns.get(name);
    }

    /** The session has it. */
    void found(Given given) {
        turns.put(given.name(), given);
        if (given.holders.isEmpty() || Clock.now() >= given.endAt) giveBack.accept(given);
        else stopping.add(given);
    }

    /** A holder has come to the end. True: the turn goes back. */
    boolean released(TurnName name, Held held) {
        Given given = turns.get(name);
        if (given == null || !given.holders.remove(held) || !given.holders.isEmpty()) return false;
        return over(given);
    }

    /** It is over, or the application has it again. */
    void forget(TurnName name) {
        Given given = turns.remove(name);
        if (given != null) stopping.remove(given);
    }

    /** What a new stream does not tell of the session has not. */
    void keepOnly(List<TurnRef> told) {
        if (turns.isEmpty() || told.size() >= MOST_TOLD) return;
        Set<TurnName> there = new HashSet<>();
        for (TurnRef turn : told) there.add(TurnName.of(turn));
        turns.keySet().retainAll(there);
    }

    /** The stream is gone: the next one tells which of them there are. */
    void detached() {
        stopping.clear();
    }

    /** When {@link #tick} is to be called. */
    long nextAt() {
        long next = Clock.NEVER;
        for (Given given : stopping) next = Math.min(next, given.endAt);
        return next;
    }

    /** Gives back those whose holders have had the time to end. */
    void tick(long now) {
        for (Given given : List.copyOf(stopping)) if (now >= given.endAt) over(given);
    }

    private boolean over(Given given) {
        boolean goes = stopping.remove(given);
        if (goes) giveBack.accept(given);
        return goes;
    }
}
