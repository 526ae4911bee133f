package io.keyturn.client;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Scoped turns that somebody works on. When the client is closed they are told to stop, and have a moment to give their turn back:
 * its key would be blocked for the ttl else. Who goes on after that keeps it for so long, so that nobody works beside him.
 */
final class ScopedTurns {
    private static final long LEAVING = 1_000 * Clock.MS;

    private final Set<ScopedTurn> turns = new HashSet<>();
    private boolean isClosed;

    void add(ScopedTurn turn) {
        synchronized (this) {
            turns.add(turn);
            if (!isClosed) return;
        }
        turn.lose();
    }

    synchronized void remove(ScopedTurn turn) {
        turns.remove(turn);
        notifyAll();
    }

    /** While the sidecar can still be told. An interrupt stays set. */
    void close() {
        List<ScopedTurn> all;
        synchronized (this) {
            isClosed = true;
            all = List.copyOf(turns);
        }
        for (ScopedTurn turn : all) turn.lose();
        long end = Clock.after(Clock.now(), LEAVING);
        Threads.uninterruptibly(() -> awaitNobody(end));
    }

    private synchronized void awaitNobody(long end) throws InterruptedException {
        // Who closes does not wait for a turn of his own.
        Thread mine = Thread.currentThread();
        for (long left = end - Clock.now(); left > 0; left = end - Clock.now()) {
            if (turns.stream().allMatch(turn -> turn.isOf(mine))) return;
            wait(left / Clock.MS + 1);
        }
    }
}
