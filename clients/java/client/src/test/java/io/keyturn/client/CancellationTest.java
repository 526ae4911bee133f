package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.KeyturnOptions.TransportKind;
import io.keyturn.client.internal.session.Threads;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who gives up an answer holds no turn, at whatever moment that is. */
@Tag("sidecar")
class CancellationTest {
    private static final Duration LONG = Duration.ofMinutes(5);
    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("queues: { long: { lease: 1h } }");
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
        return EnQueueRequest.newBuilder().setQueue("long").setKey(key);
    }

    private static boolean isFree(Keyturn keyturn, String key) {
        return !Wait.explain(keyturn, "long", key).hasHolder();
    }

    /** Keeps the thread that completes futures from doing so, until it is let go. */
    private static CountDownLatch holdBack(Keyturn keyturn, String key) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        keyturn.enQueue(enQueue(key).build()).thenAccept(answer -> {
            held.countDown();
            Threads.uninterruptibly(() -> go.await());
        });
        Wait.forLatch(held);
        return go;
    }

    /** What the sidecar sent before is most likely here after a few of somebody else's round trips. */
    private static void letItArrive(Keyturn watcher) {
        for (int trips = 0; trips < 20; trips++) isFree(watcher, "nobody's");
    }

    @ParameterizedTest
    @EnumSource
    void aTurnWhoseAnswerIsCancelledBeforeItIsToldIsGivenBack(TransportKind transport) throws Exception {
        try (Keyturn watcher = Keyturn.connect(sidecar.address());
                Keyturn keyturn = connect(transport)) {
            String key = "late-" + transport;
            CountDownLatch go = holdBack(keyturn, "before-" + key);
            CompletableFuture<EnQueueResponse> asked = keyturn.enQueue(enQueue(key).build());
            Wait.until(() -> !isFree(watcher, key));
            // The answer is on the wire, or here and not told yet: the turn is nobody's in both cases.
            letItArrive(watcher);
            asked.cancel(true);
            go.countDown();
            Wait.until(() -> isFree(watcher, key));
        }
    }

    @Test
    void aTurnWithALeaseOfItsOwnIsGivenBackToo() throws Exception {
        try (Keyturn watcher = Keyturn.connect(sidecar.address());
                Keyturn keyturn = connect(TransportKind.SESSION)) {
            CountDownLatch go = holdBack(keyturn, "before-leased");
            CompletableFuture<EnQueueResponse> asked =
                    keyturn.enQueue(enQueue("leased").setLease(Protos.duration(Duration.ofHours(1))).build());
            Wait.until(() -> !isFree(watcher, "leased"));
            letItArrive(watcher);
            asked.cancel(true);
            go.countDown();
            Wait.until(() -> isFree(watcher, "leased"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFutureThatTimesOutLeavesTheLine(TransportKind transport) {
        try (Keyturn keyturn = connect(transport);
                Keyturn other = Keyturn.connect(sidecar.address());
                ScopedTurn first = other.turn("long", "line-" + transport)) {
            EnQueueRequest waits = enQueue("line-" + transport).setWait(Protos.duration(LONG)).build();
            CompletableFuture<EnQueueResponse> asked = keyturn.enQueue(waits);
            Wait.until(() -> Wait.explain(other, "long", "line-" + transport).getWaitingCallers() == 1);
            asked.orTimeout(1, TimeUnit.MILLISECONDS);
            ExecutionException ended =
                    assertThrows(ExecutionException.class, () -> asked.get(Wait.SECONDS, TimeUnit.SECONDS));
            assertEquals(TimeoutException.class, ended.getCause().getClass());
            Wait.until(() -> Wait.explain(other, "long", "line-" + transport).getWaitingCallers() == 0);
            first.complete();
        }
    }

    /** As when the thread is interrupted in the moment in which the answer comes. */
    private static final class AnsweredWhileInterrupted extends CompletableFuture<String> {
        @Override
        public String get() throws InterruptedException {
            complete("a turn");
            throw new InterruptedException();
        }
    }

    @Test
    void anAnswerThatIsThereIsNotThrownAwayByAnInterrupt() {
        try (Keyturn keyturn = connect(TransportKind.SESSION)) {
            assertEquals("a turn", keyturn.get(new AnsweredWhileInterrupted()));
            assertTrue(Thread.interrupted(), "it stays interrupted");
        }
    }

    @Test
    void itemsThatComeWhileAConsumerStopsGoBack() throws Exception {
        try (Keyturn watcher = Keyturn.connect(sidecar.address());
                Keyturn keyturn = connect(TransportKind.SESSION)) {
            Consumer consumer = keyturn.consume("stopping", work -> {});
            CountDownLatch go = holdBack(keyturn, "before-stop");
            watcher.get(watcher.submit("stopping", QueueItem.of("k", "x")));
            Wait.until(() -> Wait.explain(watcher, "stopping", "k").hasHolder());
            letItArrive(watcher);
            CompletableFuture<Void> stopped = consumer.stop(Duration.ofSeconds(1));
            go.countDown();
            stopped.get(Wait.SECONDS, TimeUnit.SECONDS);
            CountDownLatch handled = new CountDownLatch(1);
            watcher.consume("stopping", work -> handled.countDown());
            Wait.forLatch(handled);
        }
    }
}
