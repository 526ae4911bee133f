package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.client.KeyturnOptions.TransportKind;
import io.keyturn.v1.DeQueueRequest;
import io.keyturn.v1.Decision;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("sidecar")
class CallsTest {
    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start();
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    private static Keyturn connect(TransportKind transport) {
        return Keyturn.connect(
                sidecar.address(), KeyturnOptions.builder().transport(transport).build());
    }

    private static EnQueueRequest.Builder enQueue(String key) {
        return EnQueueRequest.newBuilder().setQueue("calls").setKey(key);
    }

    private static DeQueueRequest deQueue(String key, long token) {
        return DeQueueRequest.newBuilder().setQueue("calls").setKey(key).setToken(token).build();
    }

    @ParameterizedTest
    @EnumSource
    void aTurnIsGivenAndEnded(TransportKind transport) {
        try (Keyturn keyturn = connect(transport)) {
            String key = "given-" + transport;
            EnQueueResponse answer = keyturn.get(keyturn.enQueue(enQueue(key).build()));
            assertEquals(Decision.DECISION_ACCEPT, answer.getDecision());
            assertEquals(key, answer.getTurn().getKey());
            assertFalse(keyturn.get(keyturn.deQueue(deQueue(key, answer.getTurn().getToken()))).getPromoted());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWrongFieldIsNamed(TransportKind transport) {
        try (Keyturn keyturn = connect(transport)) {
            KeyturnException error = assertThrows(
                    KeyturnException.class, () -> keyturn.get(keyturn.enQueue(enQueue("").build())));
            assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
            assertEquals("key", error.violations().get(0).field());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCallEndsWithItsTimeout(TransportKind transport) {
        try (Keyturn keyturn = connect(transport)) {
            String key = "timeout-" + transport;
            long token = keyturn.get(keyturn.enQueue(enQueue(key).build())).getTurn().getToken();
            CallSettings settings = CallSettings.builder().timeout(Duration.ofMillis(200)).build();
            EnQueueRequest waits = enQueue(key).setWait(Protos.duration(Duration.ofMinutes(1))).build();
            if (transport == TransportKind.SESSION) {
                KeyturnException error =
                        assertThrows(KeyturnException.class, () -> keyturn.get(keyturn.enQueue(waits, settings)));
                assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
            } else {
                // The sidecar knows the deadline of a unary call, and answers just before it; a busy machine may be later than that.
                try {
                    Decision decision = keyturn.get(keyturn.enQueue(waits, settings)).getDecision();
                    assertEquals(Decision.DECISION_BLOCK, decision);
                } catch (KeyturnException late) {
                    assertEquals(Status.Code.DEADLINE_EXCEEDED, late.code());
                }
            }
            keyturn.get(keyturn.deQueue(deQueue(key, token)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStaleTokenIsRefusedWithItsCause(TransportKind transport) {
        try (Keyturn keyturn = connect(transport)) {
            TurnLostException error = assertThrows(
                    TurnLostException.class, () -> keyturn.get(keyturn.deQueue(deQueue("nobody", 12_345))));
            assertEquals(TurnLoss.UNKNOWN, error.loss());
            assertEquals("TURN_LOST", error.reason());
        }
    }

    @Test
    void whereNothingListensACallEndsToo() {
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1")) {
            CallSettings settings = CallSettings.builder().timeout(Duration.ofMillis(300)).build();
            KeyturnException error = assertThrows(
                    KeyturnException.class, () -> keyturn.get(keyturn.enQueue(enQueue("k").build(), settings)));
            assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
        }
    }

    @Test
    void wrongSettingsAreToldWithNameValueAndWhatIsAllowed() {
        KeyturnException ttl = assertThrows(
                KeyturnException.class, () -> KeyturnOptions.builder().sessionTtl(Duration.ofMillis(1)));
        assertEquals("sessionTtl is PT0.001S; allowed is a duration of PT0.1S to PT24H", ttl.getMessage());
        KeyturnException address = assertThrows(KeyturnException.class, () -> Keyturn.connect("nowhere"));
        assertEquals("address is \"nowhere\"; allowed are host:port and unix:/path", address.getMessage());
        KeyturnException concurrency = assertThrows(
                KeyturnException.class, () -> ConsumerOptions.builder().concurrency(0));
        assertEquals("concurrency is 0; allowed is a whole number from 1 to 10000", concurrency.getMessage());
        KeyturnException surrogate = assertThrows(KeyturnException.class, () -> QueueItem.of("\ud800", "x"));
        assertEquals(Status.Code.INVALID_ARGUMENT, surrogate.code());
        KeyturnException half = assertThrows(
                KeyturnException.class, () -> TlsOptions.builder().certificate(java.nio.file.Path.of("c"), null));
        assertTrue(half.getMessage().contains("tls.key is null"), half.getMessage());
    }

    @Test
    void oneCallTooManyIsRefused() throws Exception {
        KeyturnOptions options = KeyturnOptions.builder().openCommands(1).build();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            keyturn.get(keyturn.enQueue(enQueue("held").build()));
            EnQueueRequest waits = enQueue("held").setWait(Protos.duration(Duration.ofMinutes(1))).build();
            CompletableFuture<EnQueueResponse> waiting = keyturn.enQueue(waits);
            KeyturnException error = assertThrows(
                    KeyturnException.class, () -> keyturn.get(keyturn.enQueue(enQueue("other").build())));
            assertEquals(Status.Code.RESOURCE_EXHAUSTED, error.code());
            waiting.cancel(true);
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatEndsATurnFindsRoomWhenCallsThatWaitHaveTakenAllOfIt(TransportKind transport) throws Exception {
        KeyturnOptions options = KeyturnOptions.builder().transport(transport).openCommands(1).build();
        try (Keyturn watcher = Keyturn.connect(sidecar.address());
                Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            String key = "room-" + transport;
            ScopedTurn turn = keyturn.turn("calls", key);
            EnQueueRequest waits = enQueue(key).setWait(Protos.duration(Duration.ofMinutes(1))).build();
            CompletableFuture<EnQueueResponse> waiting = keyturn.enQueue(waits);
            Wait.until(() -> Wait.explain(watcher, "calls", key).getWaitingCallers() == 1);
            turn.complete();
            assertTrue(waiting.get(Wait.SECONDS, TimeUnit.SECONDS).hasTurn());
        }
    }

    @Test
    void aCancelledCallLeavesTheLine() {
        try (Keyturn keyturn = connect(TransportKind.SESSION)) {
            keyturn.get(keyturn.enQueue(enQueue("line").build()));
            EnQueueRequest waits = enQueue("line").setWait(Protos.duration(Duration.ofMinutes(1))).build();
            CompletableFuture<EnQueueResponse> waiting = keyturn.enQueue(waits);
            Wait.until(() -> Wait.explain(keyturn, "calls", "line").getWaitingCallers() == 1);
            waiting.cancel(true);
            Wait.until(() -> Wait.explain(keyturn, "calls", "line").getWaitingCallers() == 0);
        }
    }

    @Test
    void aBlockingCallInACallbackIsRefusedInsteadOfHanging() throws Exception {
        try (Keyturn keyturn = connect(TransportKind.SESSION)) {
            AtomicReference<KeyturnException> refused = new AtomicReference<>();
            keyturn.enQueue(enQueue("callback").build())
                    .thenAccept(answer -> {
                        try {
                            keyturn.turn("calls", "other-callback");
                        } catch (KeyturnException error) {
                            refused.set(error);
                        }
                    })
                    .get();
            assertEquals(Status.Code.FAILED_PRECONDITION, refused.get().code());
        }
    }

    @Test
    void aClientIsForManyThreads() throws Exception {
        int threads = 16;
        int keys = 4;
        int each = 100;
        AtomicInteger atOnce = new AtomicInteger();
        List<Integer> counted = new ArrayList<>();
        for (int key = 0; key < keys; key++) counted.add(0);
        try (Keyturn keyturn = connect(TransportKind.SESSION)) {
            TurnOptions strict = TurnOptions.builder()
                    .order(TurnOptions.Order.STRICT)
                    .waitFor(TurnOptions.FOREVER)
                    .build();
            CountDownLatch done = new CountDownLatch(threads);
            for (int n = 0; n < threads; n++) {
                Thread thread = new Thread(() -> {
                    for (int round = 0; round < each; round++) {
                        int key = round % keys;
                        // Not atomic: only the turn makes it right.
                        keyturn.withTurn("many", "key-" + key, strict, turn -> counted.set(key, counted.get(key) + 1));
                        atOnce.incrementAndGet();
                    }
                    done.countDown();
                });
                thread.setDaemon(true);
                thread.start();
            }
            Wait.forLatch(done);
        }
        assertEquals(threads * each, atOnce.get());
        for (int key = 0; key < keys; key++) assertEquals(threads * each / keys, counted.get(key));
    }
}
