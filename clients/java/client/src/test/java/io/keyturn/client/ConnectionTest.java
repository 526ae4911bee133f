package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Tag("sidecar")
@Isolated("looks at all threads of the process")
class ConnectionTest {
    private static final Duration TTL = Duration.ofSeconds(7);
    /** Most of it, so that a machine that is slow for seconds is in time still. */
    private static final Duration MARGIN = Duration.ofSeconds(5);

    @Test
    void aTurnIsKeptThroughABrokenConnection() throws Exception {
        CountDownLatch reconnected = new CountDownLatch(1);
        Metrics metrics = new Metrics() {
            @Override
            public void reconnected() {
                reconnected.countDown();
            }
        };
        KeyturnOptions options = KeyturnOptions.builder().metrics(metrics).build();
        try (Sidecar sidecar = Sidecar.start();
                CuttingProxy proxy = new CuttingProxy(sidecar.address());
                Keyturn keyturn = Keyturn.connect(proxy.address(), options);
                ScopedTurn turn = keyturn.turn("q", "k")) {
            proxy.cut();
            Wait.forLatch(reconnected);
            turn.ensureHeld();
            turn.complete();
        }
    }

    @Test
    void aLostAnswerIsToldAgainAfterReconnecting() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                CuttingProxy proxy = new CuttingProxy(sidecar.address());
                Keyturn watcher = Keyturn.connect(sidecar.address());
                Keyturn keyturn = Keyturn.connect(proxy.address())) {
            keyturn.turn("q", "first").close();
            proxy.swallowAnswers(true);
            EnQueueRequest request = EnQueueRequest.newBuilder()
                    .setQueue("q")
                    .setKey("k")
                    .setTicket("mine")
                    .build();
            CompletableFuture<EnQueueResponse> asked = keyturn.enQueue(request);
            CompletableFuture<SubmitOutcome> submitted = keyturn.submit("items", QueueItem.of("k", "once"));
            Wait.until(() -> Wait.explain(watcher, "q", "k").hasHolder());
            Wait.until(() -> Wait.explain(watcher, "items", "k").getWaitingItems() == 1);
            long token = Wait.explain(watcher, "q", "k").getHolder().getToken();
            proxy.swallowAnswers(false);
            proxy.cut();
            assertEquals(token, asked.get(Wait.SECONDS, TimeUnit.SECONDS).getTurn().getToken());
            assertTrue(submitted.get(Wait.SECONDS, TimeUnit.SECONDS).accepted());
            assertEquals(1, Wait.explain(watcher, "items", "k").getWaitingItems());
        }
    }

    @Test
    void aKilledSidecarLosesTurnsInTime() throws Exception {
        KeyturnOptions options = KeyturnOptions.builder()
                .sessionTtl(TTL)
                .margin(MARGIN)
                .build();
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            ScopedTurn turn = keyturn.turn("q", "k", TurnOptions.builder().interrupts(false).build());
            CompletableFuture<TurnLoss> lost = new CompletableFuture<>();
            turn.onLost(lost::complete);
            long killed = System.nanoTime();
            sidecar.kill();
            assertEquals(TurnLoss.UNREACHABLE, lost.get(Wait.SECONDS, TimeUnit.SECONDS));
            long took = System.nanoTime() - killed;
            assertTrue(took < TTL.toNanos(), "told after " + took / 1_000_000 + " ms, when it may have ended");
            assertThrows(TurnLostException.class, turn::close);
        }
    }

    @Test
    void callsThatAreOpenWhenTheSidecarIsKilledAreAnsweredByTheNextOne() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.turn("q", "warm").close();
            sidecar.kill();
            CompletableFuture<SubmitOutcome> submitted = keyturn.submit(
                    "items", QueueItem.of("k", "x"), SubmitOptions.builder().timeout(Duration.ofMinutes(1)).build());
            sidecar.run();
            assertTrue(submitted.get(Wait.SECONDS, TimeUnit.SECONDS).accepted());
        }
    }

    @Test
    void ofTwoClientsWithOneSessionTheNewerWins() throws Exception {
        KeyturnOptions options = KeyturnOptions.builder().sessionId("mine").build();
        try (Sidecar sidecar = Sidecar.start();
                Keyturn older = Keyturn.connect(sidecar.address(), options);
                Keyturn newer = Keyturn.connect(sidecar.address(), options)) {
            ScopedTurn turn = older.turn("q", "k", TurnOptions.builder().interrupts(false).build());
            CompletableFuture<TurnLoss> lost = new CompletableFuture<>();
            turn.onLost(lost::complete);
            newer.turn("q", "other").close();
            assertEquals(TurnLoss.REPLACED, lost.get(Wait.SECONDS, TimeUnit.SECONDS));
            KeyturnException error = assertThrows(KeyturnException.class, () -> older.turn("q", "k"));
            assertEquals("SESSION_REPLACED", error.reason());
            assertThrows(TurnLostException.class, turn::close);
        }
    }

    @Test
    void aUnixSocketIsAnAddress(@TempDir Path directory) throws Exception {
        try (Sidecar sidecar = Sidecar.listeningOn("unix:" + directory.resolve("s.sock"));
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            assertEquals("done", done(keyturn.withTurn("q", "k", turn -> "done")));
        }
    }

    private static Object done(TurnOutcome<?> outcome) {
        return ((TurnOutcome.Done<?>) outcome).value();
    }

    @Test
    void nothingIsLeftOfAClientThatIsClosed() throws Exception {
        try (Sidecar sidecar = Sidecar.start()) {
            AtomicInteger handled = new AtomicInteger();
            Keyturn keyturn = Keyturn.connect(sidecar.address());
            keyturn.consume("items", work -> handled.incrementAndGet());
            keyturn.producer("items").add(QueueItem.of("k", "x"));
            keyturn.turn("q", "k", TurnOptions.builder().interrupts(false).build());
            CompletableFuture<EnQueueResponse> waits = keyturn.enQueue(
                    EnQueueRequest.newBuilder().setQueue("q").setKey("k").build());
            Wait.until(() -> handled.get() == 1);
            keyturn.close();
            keyturn.close();
            assertEquals(Set.of(), threads());
            KeyturnException error = assertThrows(KeyturnException.class, () -> keyturn.get(waits));
            assertEquals(Status.Code.CANCELLED, error.code());
            assertThrows(KeyturnException.class, () -> keyturn.turn("q", "k"));
        }
    }

    @Test
    void aClientWhoseSidecarIsGoneIsClosedAllTheSame() throws Exception {
        Sidecar sidecar = Sidecar.start();
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        keyturn.turn("q", "k").complete();
        sidecar.close();
        keyturn.close(Duration.ofMillis(100));
        assertEquals(Set.of(), threads());
    }

    private static Set<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("keyturn-") || name.startsWith("grpc-"))
                .collect(Collectors.toSet());
    }

    @Test
    void aFileOfTlsThatIsNotThereIsTold(@TempDir Path directory) throws Exception {
        Path ca = directory.resolve("ca.pem");
        Files.writeString(ca, "not a certificate");
        KeyturnOptions options = KeyturnOptions.builder().tls(TlsOptions.builder().ca(ca).build()).build();
        KeyturnException error =
                assertThrows(KeyturnException.class, () -> Keyturn.connect("127.0.0.1:1", options));
        assertTrue(error.getMessage().contains(ca.toString()), error.getMessage());
        assertEquals(Set.of(), threads());
    }
}
