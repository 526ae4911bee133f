package io.keyturn.client;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for a turn or hold one. When the client is closed those that wait leave their lines: nobody will call again
 * with their tickets. Those that hold one are told to stop, and have a moment to give it back: its key would be blocked for the
 * ttl else. Who goes on after that keeps it for so long, so that nobody works beside him.
 */
final class Callers {
    /** How long they may take; then their places and turns are left to their ttl. */
    private static final long LEAVING = 1_000 * Clock.MS;

    private final Set<Claim> claims = new HashSet<>();
    private final Set<CallerTurn> turns = new HashSet<>();
    private boolean isClosed;

    synchronized void add(Claim claim) {
        claims.add(claim);
    }

    synchronized void remove(Claim claim) {
        claims.remove(claim);
        notifyAll();
    }

    void add(CallerTurn turn) {
        synchronized (this) {
            turns.add(turn);
            if (!isClosed) return;
        }
        turn.held.lose(TurnLoss.CLOSED);
    }

    synchronized void remove(CallerTurn turn) {
        turns.remove(turn);
        notifyAll();
    }

    /** While the sidecar can still be told. An interrupt stays set. */
    void close() {
        List<Claim> waiting;
        synchronized (this) {
            waiting = List.copyOf(claims);
        }
        for (Claim claim : waiting) claim.callOff();
        try {
            await(Clock.after(Clock.now(), LEAVING), () -> claims.isEmpty());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        List<CallerTurn> held;
        synchronized (this) {
            isClosed = true;
            held = List.copyOf(turns);
        }
        for (CallerTurn turn : held) turn.held.lose(TurnLoss.CLOSED);
        long end = Clock.after(Clock.now(), LEAVING);
        // Who closes does not wait for a turn of his own.
        Thread mine = Thread.currentThread();
        Threads.uninterruptibly(() -> await(end, () -> turns.stream().allMatch(turn -> turn.isOf(mine))));
    }

    private synchronized void await(long end, BooleanSupplier isOver) throws InterruptedException {
        for (long left = end - Clock.now(); left > 0 && !isOver.getAsBoolean(); left = end - Clock.now()) {
            wait(left / Clock.MS + 1);
        }
    }
}
