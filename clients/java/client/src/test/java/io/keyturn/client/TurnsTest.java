package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.v1.EvictHolderRequest;
import io.keyturn.v1.LaneState;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("sidecar")
class TurnsTest {
    private static final TurnOptions AT_ONCE =
            TurnOptions.builder().waitFor(Duration.ZERO).build();

    private static Sidecar sidecar;
    private Keyturn keyturn;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("queues: { once: { idempotency_ttl: 1m } }");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    @BeforeEach
    void connect() {
        keyturn = Keyturn.connect(sidecar.address());
    }

    @AfterEach
    void close() {
        keyturn.close();
    }

    private void evict(String queue, String key) {
        keyturn.admin()
                .evictHolder(EvictHolderRequest.newBuilder().setQueue(queue).setKey(key).build());
    }

    @Test
    void aTurnIsHeldUntilItIsClosed() {
        try (ScopedTurn turn = keyturn.turn("turns", "held")) {
            assertTrue(turn.granted());
            assertTrue(turn.token() > 0);
            ScopedTurn other = keyturn.turn("turns", "held", AT_ONCE);
            assertFalse(other.granted());
            assertEquals(1, other.blocked().orElseThrow().ahead().orElseThrow());
            assertThrows(IllegalStateException.class, other::token);
            other.close();
        }
        assertEquals(LaneState.LANE_STATE_INIT, Wait.explain(keyturn, "turns", "held").getState());
    }

    @Test
    void whatThrowsIsNotDoneAndWhatIsCompletedIs() {
        TurnOptions once = TurnOptions.builder().idempotencyKey("order-12").build();
        IOException thrown = assertThrows(IOException.class, () -> keyturn.withTurnChecked("once", "k", once, turn -> {
            throw new IOException("the machine broke");
        }));
        assertEquals("the machine broke", thrown.getMessage());
        assertInstanceOf(TurnOutcome.Done.class, keyturn.withTurn("once", "k", once, turn -> {
            turn.complete(new byte[] {4, 2});
            return "done";
        }));
        TurnOutcome<String> again = keyturn.withTurn("once", "k", once, turn -> "again");
        TurnOutcome.Declined<?> declined = assertInstanceOf(TurnOutcome.Declined.class, again);
        assertEquals(DeclineReason.ALREADY_DONE, declined.reason());
        assertEquals(2, declined.result().orElseThrow().length);
    }

    @Test
    void anEvictedHolderIsInterruptedAndItsWorkDoesNotCount() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        AtomicReference<Boolean> wasInterrupted = new AtomicReference<>();
        CompletableFuture<TurnLostException> lost = new CompletableFuture<>();
        Thread holder = new Thread(() -> {
            try {
                keyturn.withTurnChecked("turns", "evicted", turn -> {
                    started.countDown();
                    new CountDownLatch(1).await();
                    return null;
                });
            } catch (TurnLostException error) {
                wasInterrupted.set(Thread.currentThread().isInterrupted());
                lost.complete(error);
            } catch (InterruptedException error) {
                lost.completeExceptionally(error);
            }
        });
        holder.start();
        Wait.forLatch(started);
        evict("turns", "evicted");
        TurnLostException error = lost.get(Wait.SECONDS, TimeUnit.SECONDS);
        assertEquals(TurnLoss.EVICTED, error.loss());
        assertInstanceOf(InterruptedException.class, error.getSuppressed()[0]);
        assertFalse(wasInterrupted.get(), "the thread goes on with something else, and must not be interrupted in it");
        holder.join();
    }

    @Test
    void withoutInterruptsTheHolderIsToldByItsListener() throws Exception {
        CompletableFuture<TurnLoss> told = new CompletableFuture<>();
        TurnOptions options = TurnOptions.builder().interrupts(false).build();
        TurnLostException lost = assertThrows(TurnLostException.class, () -> {
            try (ScopedTurn turn = keyturn.turn("turns", "listener", options)) {
                turn.onLost(told::complete);
                evict("turns", "listener");
                assertEquals(TurnLoss.EVICTED, told.get(Wait.SECONDS, TimeUnit.SECONDS));
                assertFalse(Thread.currentThread().isInterrupted());
                assertTrue(turn.isLost());
                turn.ensureHeld();
            }
        });
        assertEquals(TurnLoss.EVICTED, lost.loss());
    }

    @Test
    void maxHoldInterruptsTheHolder() {
        TurnOptions options =
                TurnOptions.builder().maxHold(Duration.ofMillis(50)).build();
        assertThrows(InterruptedException.class, () -> keyturn.withTurnChecked("turns", "hold", options, turn -> {
            new CountDownLatch(1).await();
            return null;
        }));
        assertFalse(Thread.currentThread().isInterrupted());
        assertEquals(LaneState.LANE_STATE_INIT, Wait.explain(keyturn, "turns", "hold").getState());
    }

    @Test
    void anInterruptWhileWaitingLeavesTheLineAndStaysSet() throws Exception {
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        try (ScopedTurn first = keyturn.turn("turns", "line")) {
            TurnOptions forever =
                    TurnOptions.builder().waitFor(TurnOptions.FOREVER).build();
            Thread waits = new Thread(() -> {
                try {
                    keyturn.turn("turns", "line", forever);
                } catch (KeyturnException cancelled) {
                    interrupted.complete(Thread.currentThread().isInterrupted());
                }
            });
            waits.start();
            Wait.until(() -> Wait.explain(keyturn, "turns", "line").getWaitingCallers() == 1);
            waits.interrupt();
            assertTrue(interrupted.get(Wait.SECONDS, TimeUnit.SECONDS));
            // The place is given up behind the caller; left alone it would stay for its ticket_ttl, 10 s.
            long told = System.nanoTime();
            Wait.until(() -> Wait.explain(keyturn, "turns", "line").getWaitingCallers() == 0);
            assertTrue(System.nanoTime() - told < TimeUnit.SECONDS.toNanos(9));
            first.complete();
        }
    }

    @Test
    void theArticlesCoordinatorAcceptsBlocksAndDeclines() throws Exception {
        QueueCoordinator<Integer> coordinator = keyturn.coordinator("photos", photo -> "photo-" + photo);
        assertTrue(coordinator.enQueue(17));
        CompletableFuture<Boolean> second = CompletableFuture.supplyAsync(() -> coordinator.enQueue(17));
        Wait.until(() -> Wait.explain(keyturn, "photos", "photo-17").getWaitingCallers() == 1);
        assertFalse(coordinator.enQueue(17), "the third message of a key is not needed");
        assertFalse(second.isDone());
        coordinator.deQueue(17);
        assertTrue(second.get(Wait.SECONDS, TimeUnit.SECONDS));
        coordinator.deQueue(17);
        assertThrows(IllegalStateException.class, () -> coordinator.deQueue(17));
        assertEquals(LaneState.LANE_STATE_INIT, Wait.explain(keyturn, "photos", "photo-17").getState());
    }
}
