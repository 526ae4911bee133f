package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.v1.ExplainKeyRequest;
import io.keyturn.v1.ExplainKeyResponse;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for an event, not for a time. */
public final class Wait {
    public static final int SECONDS = 30;

    private Wait() {}

    static void forLatch(CountDownLatch latch) throws InterruptedException {
        assertTrue(latch.await(SECONDS, TimeUnit.SECONDS), "it did not happen");
    }

    /** For what can only be asked. */
    public static void until(BooleanSupplier happened) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!happened.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "it did not happen");
            LockSupport.parkNanos(1_000_000);
        }
    }

    static ExplainKeyResponse explain(Keyturn keyturn, String queue, String key) {
        return keyturn.admin()
                .explainKey(ExplainKeyRequest.newBuilder().setQueue(queue).setKey(key).build());
    }
}
