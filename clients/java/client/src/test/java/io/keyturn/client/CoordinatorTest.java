package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EvictHolderRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The article's interface has no token: what it ends must be the caller's own turn all the same. */
@Tag("sidecar")
class CoordinatorTest {
    private static Sidecar sidecar;
    private static Keyturn keyturn;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start();
        keyturn = Keyturn.connect(sidecar.address());
    }

    @AfterAll
    static void end() throws Exception {
        keyturn.close();
        sidecar.close();
    }

    private static long holder(String key) {
        return Wait.explain(keyturn, "coordinated", key).getHolder().getToken();
    }

    private static void evict(String key) {
        keyturn.admin()
                .evictHolder(EvictHolderRequest.newBuilder().setQueue("coordinated").setKey(key).build());
    }

    private static <A> A elsewhere(java.util.concurrent.Callable<A> task) throws Exception {
        CompletableFuture<A> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                done.complete(task.call());
            } catch (Exception error) {
                done.completeExceptionally(error);
            }
        });
        thread.start();
        return done.get(Wait.SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void whoLostItsTurnDoesNotEndThatOfTheNextOne() throws Exception {
        QueueCoordinator<String> coordinator = keyturn.coordinator("coordinated", key -> key);
        assertTrue(coordinator.enQueue("lost"));
        long lost = holder("lost");
        evict("lost");
        assertTrue(elsewhere(() -> coordinator.enQueue("lost")));
        long next = holder("lost");
        assertTrue(next > lost);
        assertThrows(TurnLostException.class, () -> coordinator.deQueue("lost"));
        assertEquals(next, holder("lost"), "the one who has the turn now has it still");
        elsewhere(() -> {
            coordinator.deQueue("lost");
            return null;
        });
        assertEquals(0, holder("lost"));
    }

    @Test
    void anotherThreadMayEndATurn() throws Exception {
        QueueCoordinator<String> coordinator = keyturn.coordinator("coordinated", key -> key);
        assertTrue(coordinator.enQueue("handed"));
        elsewhere(() -> {
            coordinator.deQueue("handed");
            return null;
        });
        assertEquals(0, holder("handed"));
        assertThrows(IllegalStateException.class, () -> coordinator.deQueue("handed"));
    }

    @Test
    void aMessageWithoutAKeyIsRefused() {
        QueueCoordinator<String> coordinator = keyturn.coordinator("coordinated", key -> key);
        for (String key : new String[] {null, ""}) {
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    assertThrows(KeyturnException.class, () -> coordinator.enQueue(key)).code());
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    assertThrows(KeyturnException.class, () -> coordinator.deQueue(key)).code());
        }
    }
}
