package io.keyturn.client.internal.session;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** All threads of a client: named, and none keeps a process alive whose own threads have ended. */
public final class Threads {
    private static final long IDLE_SECONDS = 10;

    private Threads() {}

    /** A wait that has an end of its own. */
    public interface Waiting {
        void run() throws InterruptedException;
    }

    /** Waits though the thread was told to stop, which it is again afterwards: what is closed is closed whole. */
    public static void uninterruptibly(Waiting waiting) {
        boolean interrupted = false;
        boolean over = false;
        while (!over) {
            try {
                waiting.run();
                over = true;
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) Thread.currentThread().interrupt();
    }

    /** As many threads as there are tasks at a time; the one who uses it bounds them. */
    public static ThreadPoolExecutor pool(ThreadMaker maker) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), maker);
    }

    /** Of a pool of many: each has a number. */
    public static ThreadMaker maker(String name) {
        AtomicInteger count = new AtomicInteger();
        return new ThreadMaker(() -> name + "-" + count.incrementAndGet());
    }
}
