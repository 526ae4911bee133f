package io.keyturn.client;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** The article's interface on top of turns. A key has one holder at a time, so that its turn is found by it. */
final class KeyCoordinator<T> implements QueueCoordinator<T> {
    private static final TurnOptions OPTIONS = TurnOptions.builder()
            .waitFor(TurnOptions.FOREVER)
            // The one who asked may hand the message to another thread, which is the one that works.
            .interrupts(false)
            .build();

    private final Keyturn keyturn;
    private final String queue;
    private final Function<? super T, String> keyOf;
    private final Map<String, Turn> turns = new ConcurrentHashMap<>();

    KeyCoordinator(Keyturn keyturn, String queue, Function<? super T, String> keyOf) {
        this.keyturn = keyturn;
        this.queue = Checks.text("queue", queue);
        this.keyOf = Checks.needed("the key function", keyOf);
    }

    @Override
    public boolean enQueue(T key) {
        String name = keyOf.apply(key);
        Turn turn = keyturn.turn(queue, name, OPTIONS);
        if (turn.granted()) turns.put(name, turn);
        return turn.granted();
    }

    @Override
    public void deQueue(T key) {
        String name = keyOf.apply(key);
        Turn turn = turns.remove(name);
        if (turn == null) throw new IllegalStateException("key \"" + name + "\" has no turn here; enQueue gives one");
        turn.complete();
    }
}
