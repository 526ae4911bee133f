package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.internal.session.Threads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is told to those who look at nothing, by the log and by the error listener. */
@Tag("sidecar")
final class ToldTest {
    private final LogLines log = new LogLines();
    private final List<Stage> stages = new CopyOnWriteArrayList<>();

    private Keyturn connect(Sidecar sidecar) {
        return Keyturn.connect(sidecar.address(), KeyturnOptions.builder().logger(log).build());
    }

    private ConsumerOptions.Builder options() {
        return ConsumerOptions.builder().onError((error, stage, work) -> stages.add(stage));
    }

    private void saysAll(String... parts) {
        log.says(parts);
    }

    @Test
    void anItemThatBecameADeadLetterIsAWarningWithQueueKeyAttemptAndError() throws Exception {
        try (Sidecar sidecar = Sidecar.start("default: { retry: { max_attempts: 1 } }");
                Keyturn keyturn = connect(sidecar)) {
            keyturn.consume("q", options().build(), work -> { throw new IllegalStateException("no disk"); });
            keyturn.get(keyturn.submit("q", QueueItem.of("ada", "x")));
            saysAll("WARNING", "dead letter", "queue q", "\"ada\"", "attempt 1", "no disk");
            Wait.until(() -> stages.contains(Stage.DEAD_LETTER));
        }
    }

    @Test
    void aStopThatCutsAHandlerOffFailsAndIsAWarning() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = connect(sidecar)) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            Consumer consumer = keyturn.consume("q", options().build(), work -> {
                begun.countDown();
                end.await();
            });
            keyturn.get(keyturn.submit("q", QueueItem.of("ada", "x")));
            Wait.forLatch(begun);
            CompletionException failed =
                    assertThrows(CompletionException.class, () -> consumer.stop(Duration.ZERO).join());
            assertEquals(1, assertInstanceOf(ConsumerStoppedException.class, failed.getCause()).handlers());
            saysAll("WARNING", "cut off", "queue q", "\"ada\"", "attempt 1");
            assertTrue(stages.contains(Stage.STOP), stages.toString());
            assertEquals(1, Wait.explain(keyturn, "q", "ada").getWaitingItems());
            end.countDown();
        }
    }

    @Test
    void aHandlerThatIsCutOffIsToldOnceThoughWhoIsToldTakesItsTime() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = connect(sidecar)) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch stopped = new CountDownLatch(1);
            ConsumerOptions slow = ConsumerOptions.builder()
                    .onError((error, stage, work) -> {
                        stages.add(stage);
                        // Longer than a stop waits for a handler.
                        if (stage == Stage.STOP) Threads.uninterruptibly(stopped::await);
                    })
                    .build();
            Consumer consumer = keyturn.consume("q", slow, work -> {
                begun.countDown();
                new CountDownLatch(1).await();
            });
            keyturn.get(keyturn.submit("q", QueueItem.of("ada", "x")));
            Wait.forLatch(begun);
            var stop = consumer.stop(Duration.ZERO);
            Wait.until(() -> stop.isDone() || stages.size() > 1);
            stopped.countDown();
            CompletionException failed = assertThrows(CompletionException.class, stop::join);
            assertEquals(1, assertInstanceOf(ConsumerStoppedException.class, failed.getCause()).handlers());
            assertEquals(List.of(Stage.STOP), stages);
        }
    }

    @Test
    void aHandlerThatCameToItsEndInTimeIsNoneThatWasCutOff() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = connect(sidecar)) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            Consumer consumer = keyturn.consume("q", options().build(), work -> {
                begun.countDown();
                end.await();
            });
            keyturn.get(keyturn.submit("q", QueueItem.of("ada", "x")));
            Wait.forLatch(begun);
            var stopped = consumer.stop(Duration.ofSeconds(20));
            end.countDown();
            stopped.join();
            assertEquals(List.of(), stages);
            assertEquals(List.of(), log.lines);
        }
    }
}
