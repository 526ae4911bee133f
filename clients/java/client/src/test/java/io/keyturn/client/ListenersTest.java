package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import io.keyturn.v1.LaneState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ResourceBundle;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Code of the application that the client calls may throw anything: what is not its own goes on. */
@Tag("sidecar")
class ListenersTest {
    private static final int MANY = 50;
    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start();
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    /** Every hook throws what no program expects. */
    private static final class Throwing implements Metrics {
        @Override
        public void callDone(String method, Status.Code code, Duration took) {
            throw new AssertionError("callDone");
        }

        @Override
        public void turnGranted(String queue) {
            throw new AssertionError("turnGranted");
        }

        @Override
        public void turnLost(String queue, TurnLoss loss) {
            throw new AssertionError("turnLost");
        }
    }

    /** Counts what it is told, and shows none of it. */
    private static final class Counting implements System.Logger {
        final AtomicInteger told = new AtomicInteger();
        final Set<String> messages = ConcurrentHashMap.newKeySet();

        @Override
        public String getName() {
            return "counting";
        }

        @Override
        public boolean isLoggable(Level level) {
            return true;
        }

        @Override
        public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
            if (thrown instanceof AssertionError) told.incrementAndGet();
            messages.add(message);
        }

        @Override
        public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {}
    }

    private final Counting logger = new Counting();

    private Keyturn throwing() {
        KeyturnOptions options = KeyturnOptions.builder().metrics(new Throwing()).logger(logger).build();
        return Keyturn.connect(sidecar.address(), options);
    }

    @Test
    void metricsThatThrowCostNoTurn() {
        try (Keyturn keyturn = throwing()) {
            assertInstanceOf(TurnOutcome.Done.class, keyturn.withTurn("metrics", "turn", turn -> "done"));
            assertEquals(LaneState.LANE_STATE_INIT, Wait.explain(keyturn, "metrics", "turn").getState());
            assertTrue(logger.told.get() >= 2, "what they throw is logged");
        }
    }

    @Test
    void metricsThatThrowCostNoItem() throws Exception {
        CountDownLatch handled = new CountDownLatch(MANY);
        try (Keyturn keyturn = throwing()) {
            for (int n = 0; n < MANY; n++) keyturn.get(keyturn.submit("metrics-items", QueueItem.of("key-" + n, "x")));
            keyturn.consume("metrics-items", work -> handled.countDown());
            Wait.forLatch(handled);
        }
    }

    @Test
    void metricsThatThrowKeepNoAnswerFromTheOthersOfItsMessage() throws Exception {
        try (Keyturn keyturn = throwing()) {
            List<CompletableFuture<EnQueueResponse>> asked = new ArrayList<>();
            for (int n = 0; n < MANY; n++) {
                String key = "key-" + n;
                asked.add(keyturn.enQueue(EnQueueRequest.newBuilder().setQueue("many").setKey(key).build()));
            }
            for (CompletableFuture<EnQueueResponse> one : asked) assertTrue(one.get(Wait.SECONDS, TimeUnit.SECONDS).hasTurn());
        }
    }

    @Test
    void anErrorListenerOfAConsumerThatThrowsAnErrorEndsNothingAndIsLogged() throws Exception {
        ConsumerOptions options = ConsumerOptions.builder()
                .onError((error, stage, work) -> {
                    throw new AssertionError("of the listener");
                })
                .build();
        CountDownLatch handled = new CountDownLatch(1);
        try (Keyturn keyturn = throwing()) {
            Consumer consumer = keyturn.consume("listener", options, work -> {
                if (work.key().equals("bad")) throw new DeadLetterException("of the handler");
                handled.countDown();
            });
            keyturn.get(keyturn.submit("listener", QueueItem.of("bad", "x")));
            Wait.until(() -> logger.messages.contains("onError threw (stage HANDLER)"));
            keyturn.get(keyturn.submit("listener", QueueItem.of("good", "x")));
            Wait.forLatch(handled);
            assertFalse(consumer.done().isDone());
        }
    }

    @Test
    void aLoggerThatThrowsCostsNoItem() throws Exception {
        CountDownLatch handled = new CountDownLatch(2);
        System.Logger broken = new System.Logger() {
            @Override
            public String getName() {
                throw new AssertionError("getName");
            }

            @Override
            public boolean isLoggable(Level level) {
                throw new AssertionError("isLoggable");
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
                throw new AssertionError("log");
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
                throw new AssertionError("log");
            }
        };
        KeyturnOptions options = KeyturnOptions.builder().logger(broken).build();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            keyturn.consume("logger", work -> {
                handled.countDown();
                throw new DeadLetterException("of the handler");
            });
            for (String key : List.of("a", "b")) keyturn.get(keyturn.submit("logger", QueueItem.of(key, "x")));
            Wait.forLatch(handled);
        }
    }

    @Test
    void anErrorListenerOfAProducerThatThrowsAnErrorEndsNothing() throws Exception {
        ProducerOptions options = ProducerOptions.builder()
                .onError((error, item) -> {
                    throw new AssertionError("of the listener");
                })
                .build();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address());
                Producer producer = keyturn.producer("producer", options)) {
            CompletableFuture<ProducerResult> tooLarge = producer.add(QueueItem.of("k", new byte[2_000_000]));
            assertThrows(ExecutionException.class, () -> tooLarge.get(Wait.SECONDS, TimeUnit.SECONDS));
            ProducerResult next = producer.add(QueueItem.of("k", "x")).get(Wait.SECONDS, TimeUnit.SECONDS);
            assertTrue(next.result().isPresent());
        }
    }
}
