package io.keyturn.client.internal.consume;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.session.Threads;
import io.keyturn.client.internal.words.Clock;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for a turn or hold one. When the client is closed those that wait leave their lines: nobody will call again
 * with their tickets. Those that hold one are told to stop, and have a moment to give it back: its key would be blocked for the
 * ttl else. Who goes on after that keeps it for so long, so that nobody works beside him.
 */
public final class Callers {
    /** How long they may take; then their places and turns are left to their ttl. */
    private static final long LEAVING = 1_000 * Clock.MS;

    /** A thread that waits for a turn. */
    interface Waiter {
        /** From another thread: it leaves its line. */
        void callOff();
    }

    /** A thread that has one. */
    interface Holder {
        void lose(TurnLoss why);

        boolean isOf(Thread thread);
    }

    private final Set<Waiter> waiters = new HashSet<>();
    private final Set<Holder> holders = new HashSet<>();
    private boolean isClosed;

    synchronized void add(Waiter waiter) {
        waiters.add(waiter);
    }

    synchronized void remove(Waiter waiter) {
        waiters.remove(waiter);
        notifyAll();
    }

    void add(Holder holder) {
        synchronized (this) {
            holders.add(holder);
            if (!isClosed) return;
        }
        holder.lose(TurnLoss.CLOSED);
    }

    synchronized void remove(Holder holder) {
        holders.remove(holder);
        notifyAll();
    }

    /** While the sidecar can still be told. An interrupt stays set. */
    public void close() {
        List<Waiter> waiting;
        synchronized (this) {
            waiting = List.copyOf(waiters);
        }
        for (Waiter waiter : waiting) waiter.callOff();
        try {
            await(Clock.after(Clock.now(), LEAVING), () -> waiters.isEmpty());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        List<Holder> held;
        synchronized (this) {
            isClosed = true;
            held = List.copyOf(holders);
        }
        for (Holder holder : held) holder.lose(TurnLoss.CLOSED);
        long end = Clock.after(Clock.now(), LEAVING);
        // Who closes does not wait for a turn of his own.
        Thread mine = Thread.currentThread();
        Threads.uninterruptibly(() -> await(end, () -> holders.stream().allMatch(holder -> holder.isOf(mine))));
    }

    private synchronized void await(long end, BooleanSupplier isOver) throws InterruptedException {
        for (long left = end - Clock.now(); left > 0 && !isOver.getAsBoolean(); left = end - Clock.now()) {
            wait(left / Clock.MS + 1);
        }
    }
}
