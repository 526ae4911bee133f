package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.Wait;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A pool has ended a moment before its last thread has: whoever says that none is left waits for the thread. */
class ThreadMakerTest {
    @Test
    void aPoolThatHasEndedIsWaitedForUntilItsThreadIsGone() throws Exception {
        AtomicReference<Thread> made = new AtomicReference<>();
        CountDownLatch lastStep = new CountDownLatch(1);
        ThreadMaker maker = new ThreadMaker(() -> "slow-to-go");
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = maker.newThread(() -> {
                task.run();
                Threads.uninterruptibly(lastStep::await);
            });
            made.set(thread);
            return thread;
        });
        pool.execute(() -> {});
        pool.shutdown();
        assertTrue(pool.awaitTermination(Wait.SECONDS, TimeUnit.SECONDS));
        Thread waits = new Thread(() -> Threads.uninterruptibly(() -> maker.awaitEnd(pool, TimeUnit.SECONDS.toNanos(Wait.SECONDS))));
        waits.start();
        // It stands in the join: the pool itself has ended.
        Wait.until(() -> waits.getState() == Thread.State.TIMED_WAITING || waits.getState() == Thread.State.TERMINATED);
        assertTrue(waits.isAlive(), "it did not wait for the thread");
        lastStep.countDown();
        waits.join();
        assertEquals(Thread.State.TERMINATED, made.get().getState());
    }
}
