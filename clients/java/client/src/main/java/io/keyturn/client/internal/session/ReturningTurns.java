package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns that are to be given back, each so many ns after it came. Of the loop.
 *
 * @param <T> how the turn is named
 */
final class ReturningTurns<T> {
    /** More of them are not waited for. */
    private static final int MOST = 10_000;

    private record Returning<T>(T turn, long until) {}

    private final long wait;
    private final ArrayDeque<Returning<T>> turns = new ArrayDeque<>();

    ReturningTurns(long wait) {
        this.wait = wait;
    }

    boolean isFull() {
        return turns.size() >= MOST;
    }

    void add(T turn) {
        turns.add(new Returning<>(turn, Clock.now() + wait));
    }

    /** When the first one has waited long enough. */
    long nextAt() {
        return turns.isEmpty() ? Clock.NEVER : turns.peek().until();
    }

    /** Takes out those that have waited long enough. */
    List<T> take(long now) {
        List<T> over = new ArrayList<>();
        while (now >= nextAt()) over.add(turns.poll().turn());
        return over;
    }

    void clear() {
        turns.clear();
    }
}
