package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Code for which the client waits when it is closed cannot close it: that is refused, and nothing is closed. */
@Tag("sidecar")
class InsideTest {
    /** Below the 20 s after which a handler that waits is cut off. */
    private static final long SOON_SECONDS = 10;

    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start();
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    private interface Place {
        void begin(Keyturn keyturn, Runnable close);
    }

    private static void refuses(KeyturnOptions options, CompletableFuture<Runnable> closes, String queue, Place place) throws Exception {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            Runnable close = () -> {
                try {
                    keyturn.close();
                    thrown.complete(null);
                } catch (RuntimeException error) {
                    thrown.complete(error);
                }
            };
            closes.complete(close);
            place.begin(keyturn, close);
            KeyturnException error = assertInstanceOf(KeyturnException.class, thrown.get(SOON_SECONDS, TimeUnit.SECONDS));
            assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
            assertTrue(keyturn.get(keyturn.submit(queue + "-next", QueueItem.of("k", "x"))).accepted());
        }
    }

    private static void refuses(String queue, Place place) throws Exception {
        refuses(KeyturnOptions.builder().build(), new CompletableFuture<>(), queue, place);
    }

    @Test
    void inTheErrorListenerOfAConsumer() throws Exception {
        refuses("listener", (keyturn, close) -> {
            ConsumerOptions options =
                    ConsumerOptions.builder().onError((error, stage, work) -> close.run()).build();
            keyturn.consume("listener", options, work -> {
                throw new DeadLetterException("of the handler");
            });
            keyturn.get(keyturn.submit("listener", QueueItem.of("k", "x")));
        });
    }

    @Test
    void inTheErrorListenerThatIsToldOfAHandlerThatWasCutOff() throws Exception {
        refuses("cut-off", (keyturn, close) -> {
            CompletableFuture<Void> begun = new CompletableFuture<>();
            ConsumerOptions options = ConsumerOptions.builder()
                    .onError((error, stage, work) -> close.run())
                    .interrupts(false)
                    .build();
            CompletableFuture<Void> never = new CompletableFuture<>();
            Consumer consumer = keyturn.consume("cut-off", options, work -> {
                begun.complete(null);
                never.orTimeout(Wait.SECONDS, TimeUnit.SECONDS).handle((nothing, error) -> null).join();
            });
            keyturn.get(keyturn.submit("cut-off", QueueItem.of("k", "x")));
            begun.join();
            consumer.stop(Duration.ZERO);
        });
    }

    @Test
    void inTheErrorListenerOfAProducer() throws Exception {
        refuses("producer", (keyturn, close) -> {
            ProducerOptions options = ProducerOptions.builder()
                    .onError((error, item) -> close.run())
                    .timeout(Duration.ofMillis(10))
                    .interval(Duration.ofSeconds(1))
                    .build();
            keyturn.producer("producer", options).add(QueueItem.of("k", "x"));
        });
    }

    @Test
    void inMetrics() throws Exception {
        CompletableFuture<Runnable> close = new CompletableFuture<>();
        Metrics closing = new Metrics() {
            @Override
            public void callDone(String method, Status.Code code, Duration took) {
                close.join().run();
            }
        };
        KeyturnOptions options = KeyturnOptions.builder().metrics(closing).build();
        refuses(options, close, "metrics", (keyturn, same) -> keyturn.get(keyturn.submit("metrics", QueueItem.of("k", "x"))));
    }

    @Test
    void inThePhasesOfALeader() throws Exception {
        LeadOptions options = LeadOptions.builder().ttl(Duration.ofSeconds(1)).once().build();
        refuses("execute", (keyturn, close) -> keyturn.lead("execute", options, term -> close.run()));
        refuses("hand-over", (keyturn, close) -> keyturn.lead("hand-over", options, new LeaderCareer() {
            @Override
            public void execute(LeaderTerm term) {}

            @Override
            public byte[] handOver(LeaderTerm term, HandOverCause cause) {
                close.run();
                return null;
            }
        }));
    }
}
