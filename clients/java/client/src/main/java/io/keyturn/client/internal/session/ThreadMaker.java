package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Makes the threads of one pool, and knows when they are gone: a pool has ended a moment before its last thread has. */
public final class ThreadMaker implements ThreadFactory {
    private static final int FEW = 16;

    private final Supplier<String> name;
    /** All that live, and some that do not any more. Guarded by this. */
    private List<Thread> made = new ArrayList<>();

    private int sweepAt = FEW;

    /** {@code name}: asked for each. */
    ThreadMaker(Supplier<String> name) {
        this.name = name;
    }

    @Override
    public synchronized Thread newThread(Runnable task) {
        Thread thread = daemon(task, name.get());
        if (made.size() >= sweepAt) {
            made.removeIf(one -> one.getState() == Thread.State.TERMINATED);
            sweepAt = Math.max(FEW, 2 * made.size());
        }
        made.add(thread);
        return thread;
    }

    public static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    private synchronized List<Thread> all() {
        return List.copyOf(made);
    }

    /** Waits until the pool has ended and its threads are gone, for so many ns. The one who waits is none of them. */
    public boolean awaitEnd(ExecutorService pool, long nanos) throws InterruptedException {
        long end = Clock.after(Clock.now(), nanos);
        if (!pool.awaitTermination(nanos, TimeUnit.NANOSECONDS)) return false;
        for (Thread thread : all()) {
            long left = end - Clock.now();
            if (thread != Thread.currentThread() && left > 0) TimeUnit.NANOSECONDS.timedJoin(thread, left);
        }
        return true;
    }
}
