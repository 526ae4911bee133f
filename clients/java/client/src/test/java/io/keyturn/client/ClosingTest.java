package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Tag("sidecar")
@Isolated("looks at all threads of the process")
class ClosingTest {
    private static final int THREADS = 8;
    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start();
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    /** What a handler of the consumer gets from this. */
    private static Throwable inAHandler(String queue, Function<Consumer, Runnable> nested) throws Exception {
        CompletableFuture<Consumer> consumer = new CompletableFuture<>();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            consumer.complete(keyturn.consume(queue, work -> {
                try {
                    nested.apply(consumer.get()).run();
                    thrown.complete(null);
                } catch (RuntimeException error) {
                    thrown.complete(error);
                }
            }));
            keyturn.get(keyturn.submit(queue, QueueItem.of("k", "x")));
            return thrown.get(Wait.SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void aHandlerThatClosesItsConsumerIsToldInsteadOfWaitingForItself() throws Exception {
        long begun = System.nanoTime();
        KeyturnException error = assertInstanceOf(
                KeyturnException.class, inAHandler("closes", consumer -> consumer::close));
        assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
        assertTrue(System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(15), "it waited for itself");
    }

    @Test
    void aHandlerThatClosesItsClientIsToldAndNothingWasStopped() throws Exception {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        CountDownLatch handled = new CountDownLatch(2);
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.consume("closes-client", work -> {
                try {
                    keyturn.close();
                } catch (KeyturnException error) {
                    thrown.complete(error);
                }
                handled.countDown();
            });
            for (int n = 0; n < 2; n++) keyturn.get(keyturn.submit("closes-client", QueueItem.of("key-" + n, "x")));
            KeyturnException error =
                    assertInstanceOf(KeyturnException.class, thrown.get(Wait.SECONDS, TimeUnit.SECONDS));
            assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
            Wait.forLatch(handled);
        }
    }

    @Test
    void aHandlerMayStopItsConsumerWithoutWaiting() throws Exception {
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        assertEquals(null, inAHandler("stops", consumer -> () -> consumer.stop(Duration.ofSeconds(5))
                .thenAccept(stopped::complete)));
        stopped.get(Wait.SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void aCallbackThatClosesTheClientIsToldAndNothingWasStopped() throws Exception {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.producer("q");
            ExecutionException refused = assertThrows(
                    ExecutionException.class,
                    () -> keyturn.submit("q", QueueItem.of("k", "x")).thenRun(keyturn::close).get(Wait.SECONDS, TimeUnit.SECONDS));
            KeyturnException error = assertInstanceOf(KeyturnException.class, refused.getCause());
            assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
            assertTrue(keyturn.get(keyturn.submit("q", QueueItem.of("k", "y"))).accepted());
        }
    }

    @Test
    void aCallbackOfAProducerThatClosesItIsToldInsteadOfWaitingForItself() throws Exception {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            Producer producer = keyturn.producer("q");
            ExecutionException refused = assertThrows(
                    ExecutionException.class,
                    () -> producer.add(QueueItem.of("k", "x")).thenRun(producer::close).get(Wait.SECONDS, TimeUnit.SECONDS));
            KeyturnException error = assertInstanceOf(KeyturnException.class, refused.getCause());
            assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
            producer.close();
        }
    }

    @Test
    void aClientThatIsClosedTakesNothingMore() {
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        Producer producer = keyturn.producer("q");
        keyturn.close();
        assertEquals(Status.Code.CANCELLED, assertThrows(KeyturnException.class, () -> keyturn.consume("q", work -> {})).code());
        assertEquals(Status.Code.CANCELLED, assertThrows(KeyturnException.class, () -> keyturn.producer("q")).code());
        assertEquals(Status.Code.CANCELLED, assertThrows(KeyturnException.class, () -> keyturn.turn("q", "k")).code());
        ExecutionException late = assertThrows(
                ExecutionException.class, () -> producer.add(QueueItem.of("k", "x")).get(Wait.SECONDS, TimeUnit.SECONDS));
        assertInstanceOf(ProducerClosedException.class, late.getCause());
    }

    @Test
    void closingFromManyThreadsAtOnceClosesOnce() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        for (int n = 0; n < THREADS; n++) {
            keyturn.consume("closing-" + n, work -> {});
            keyturn.producer("closing-" + n).add(QueueItem.of("k", "x"));
        }
        List<CompletableFuture<Void>> closing = new ArrayList<>();
        for (int n = 0; n < THREADS; n++) closing.add(CompletableFuture.runAsync(keyturn::close, task -> new Thread(task).start()));
        for (CompletableFuture<Void> one : closing) one.get(Wait.SECONDS, TimeUnit.SECONDS);
        // Netty has one thread for the whole process, which ends by itself when it has nothing to do for a second.
        Wait.until(() -> namesBut(before).isEmpty());
    }

    /** Of all threads, whatever they are called. */
    private static Set<String> namesBut(Set<Thread> before) {
        Set<String> names = new HashSet<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            boolean isOfThePlatform = thread.getThreadGroup() == null || thread.getName().startsWith("ForkJoinPool.common");
            if (!before.contains(thread) && !isOfThePlatform && thread.isAlive()) names.add(thread.getName());
        }
        return names;
    }

    /** What the transport says of itself. */
    private static final class Heard extends Handler {
        final Queue<String> said = new ConcurrentLinkedQueue<>();

        @Override
        public void publish(LogRecord told) {
            if (told.getLevel().intValue() >= Level.WARNING.intValue()) said.add(told.getMessage() + " " + told.getThrown());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    @Test
    void aCloseWhileAnswersComeMakesNoNoise() {
        Heard heard = new Heard();
        Logger grpc = Logger.getLogger("io.grpc");
        grpc.addHandler(heard);
        try {
            for (int round = 0; round < 100; round++) {
                Keyturn keyturn = Keyturn.connect(sidecar.address());
                for (int n = 0; n < 20; n++) keyturn.consume("noise-" + n, work -> {});
                keyturn.turn("noise", "warm").complete();
                keyturn.close();
            }
        } finally {
            grpc.removeHandler(heard);
        }
        assertEquals(List.of(), List.copyOf(heard.said));
    }

    @Test
    void closingAgainWaitsForNothing() {
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        keyturn.turn("q", "again").complete();
        keyturn.close();
        long begun = System.nanoTime();
        keyturn.close();
        assertTrue(System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(2), "it waited for what was gone");
    }

    @Test
    void whoWaitsForATurnWhenTheClientIsClosedIsToldAtOnce() throws Exception {
        Keyturn holder = Keyturn.connect(sidecar.address());
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        List<CompletableFuture<Throwable>> told = new ArrayList<>();
        TurnOptions forever = TurnOptions.builder()
                .order(TurnOptions.Order.STRICT)
                .waitFor(TurnOptions.FOREVER)
                .build();
        try (ScopedTurn first = holder.turn("q", "waited-for")) {
            for (int n = 0; n < THREADS; n++) {
                CompletableFuture<Throwable> one = new CompletableFuture<>();
                told.add(one);
                Thread waits = new Thread(() -> {
                    try {
                        keyturn.turn("q", "waited-for", forever);
                        one.complete(null);
                    } catch (KeyturnException error) {
                        one.complete(error);
                    }
                });
                waits.setDaemon(true);
                waits.start();
            }
            Wait.until(() -> Wait.explain(holder, "q", "waited-for").getWaitingCallers() == THREADS);
            keyturn.close();
            for (CompletableFuture<Throwable> one : told) {
                KeyturnException error = assertInstanceOf(KeyturnException.class, one.get(Wait.SECONDS, TimeUnit.SECONDS));
                assertEquals(Status.Code.CANCELLED, error.code());
                assertEquals(0, error.getSuppressed().length);
            }
            first.complete();
        }
        holder.close();
    }

    @Test
    void theErrorsOfACloseAreNotShared() {
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        keyturn.close();
        EnQueueRequest request = EnQueueRequest.newBuilder().setQueue("q").setKey("k").build();
        Throwable first = assertThrows(KeyturnException.class, () -> keyturn.get(keyturn.enQueue(request)));
        Throwable second = assertThrows(KeyturnException.class, () -> keyturn.get(keyturn.enQueue(request)));
        // One that is thrown in the body and by the close of one `try` would make that fail with something else.
        first.addSuppressed(second);
    }

    @Test
    void whatAStageOfTheApplicationThrewKeepsItsStack() {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            CompletableFuture<Void> staged = keyturn.submit("q", QueueItem.of("k", "x")).thenAccept(result -> thrower());
            IllegalStateException error = assertThrows(IllegalStateException.class, () -> keyturn.get(staged));
            assertEquals("thrower", error.getStackTrace()[0].getMethodName());
        }
    }

    private static void thrower() {
        throw new IllegalStateException("of the application");
    }
}
