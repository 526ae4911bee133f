package io.keyturn.client;

import io.keyturn.client.internal.words.Checks;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Function;

/**
 * The article's interface on top of turns. A key has one holder at a time, but who lost its turn does not know and ends it later,
 * when the next one has the turn: so each is given its own, by the thread that asked, and the oldest when that is another one.
 */
final class KeyCoordinator<T> implements QueueCoordinator<T> {
    /** Lost turns of a key that nobody ended; older ones are forgotten. */
    private static final int MOST_LOST = 100;

    static final TurnOptions OPTIONS = TurnOptions.builder()
            .waitFor(TurnOptions.FOREVER)
            // The one who asked may hand the message to another thread, which is the one that works.
            .interrupts(false)
            .build();

    private record Asked(long threadId, ScopedTurn turn) {}

    private final Function<? super T, String> keyOf;
    private final Function<String, ScopedTurn> asks;
    /** Of each key, in the order of their tokens: all but the last are lost. Guarded by itself. */
    private final Map<String, Deque<Asked>> turns = new HashMap<>();

    KeyCoordinator(String queue, Function<? super T, String> keyOf, Function<String, ScopedTurn> asks) {
        Checks.text("queue", queue);
        this.keyOf = Checks.needed("the key function", keyOf);
        this.asks = asks;
    }

    @Override
    public boolean enQueue(T key) {
        String name = Checks.text("the key", keyOf.apply(key));
        ScopedTurn turn = asks.apply(name);
        if (turn.granted()) note(name, turn);
        return turn.granted();
    }

    @Override
    public void deQueue(T key) {
        String name = Checks.text("the key", keyOf.apply(key));
        ScopedTurn turn = take(name);
        if (turn == null) throw new IllegalStateException("key \"" + name + "\" has no turn here; enQueue gives one");
        turn.complete();
    }

    private void note(String name, ScopedTurn turn) {
        synchronized (turns) {
            Deque<Asked> ofKey = turns.computeIfAbsent(name, unused -> new ArrayDeque<>(1));
            if (ofKey.size() > MOST_LOST) ofKey.removeFirst();
            ofKey.addLast(new Asked(Thread.currentThread().getId(), turn));
        }
    }

    private ScopedTurn take(String name) {
        synchronized (turns) {
            Deque<Asked> ofKey = turns.get(name);
            if (ofKey == null) return null;
            Asked found = ofKey.getFirst();
            long mine = Thread.currentThread().getId();
            for (Iterator<Asked> each = ofKey.iterator(); found.threadId() != mine && each.hasNext(); ) {
                Asked one = each.next();
                if (one.threadId() == mine) found = one;
            }
            ofKey.remove(found);
            if (ofKey.isEmpty()) turns.remove(name);
            return found.turn();
        }
    }
}
