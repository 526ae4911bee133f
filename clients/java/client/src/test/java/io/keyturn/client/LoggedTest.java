package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** S584: what a consumer logs, so that an application that looks at nothing else learns of it. */
@Tag("sidecar")
final class LoggedTest {
    private static Sidecar sidecar;
    private final LogLines log = new LogLines();

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("default: { retry: { initial: 1ms, max: 1ms } }");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    private Keyturn connect() {
        return Keyturn.connect(sidecar.address(), KeyturnOptions.builder().logger(log).build());
    }

    private void handleTwice(String queue, Exception first) throws Exception {
        CompletableFuture<Integer> attempt = new CompletableFuture<>();
        try (Keyturn keyturn = connect()) {
            keyturn.consume(queue, work -> {
                if (work.attempt() == 1) throw first;
                attempt.complete(work.attempt());
            });
            keyturn.get(keyturn.submit(queue, QueueItem.of("ada", "x")));
            assertEquals(2, attempt.get(Wait.SECONDS, TimeUnit.SECONDS));
        }
    }

    @Test
    void anAttemptThatFailedWithItsTypeAndItsStack() throws Exception {
        handleTwice("failed", new IllegalStateException("no disk", new ArithmeticException("by zero")));
        String line = log.says("WARNING an attempt failed", "queue failed", "key \"ada\"", "attempt 1", "no disk");
        String stack = line.substring(line.indexOf('\n') + 1);
        assertTrue(stack.startsWith("java.lang.IllegalStateException\n\tat io.keyturn.client.LoggedTest"), stack);
        assertTrue(stack.contains("Caused by: java.lang.ArithmeticException: by zero"), stack);
    }

    @Test
    void anAttemptThatFailedWithNoMoreThanALineCanTake() throws Exception {
        StackOverflowError deep = new StackOverflowError();
        StackTraceElement frame = new StackTraceElement("a.Class", "method", "Class.java", 1);
        StackTraceElement[] frames = new StackTraceElement[100_000];
        java.util.Arrays.fill(frames, frame);
        deep.setStackTrace(frames);
        handleTwice("deep", new IllegalStateException("x".repeat(100_000), deep));
        String line = log.says("an attempt failed");
        assertTrue(line.length() < 11_000, line.length() + " characters");
    }

    @Test
    void noRetryThatTheHandlerAskedForWithAStack() throws Exception {
        handleTwice("asked", new RetryLaterException(Duration.ofMillis(1)));
        String line = log.says("an attempt failed", "the handler asked for a retry");
        assertFalse(line.contains("\n"), line);
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void thatNoTurnsCanBeTakenOnceWithAddressAndReasonAndThatTheyCanBeAgain(KeyturnOptions.TransportKind transport)
            throws Exception {
        try (Sidecar away = Sidecar.start()) {
            away.kill();
            KeyturnOptions options =
                    KeyturnOptions.builder().transport(transport).logger(log).build();
            try (Keyturn keyturn = Keyturn.connect(away.address(), options)) {
                CountDownLatch handled = new CountDownLatch(1);
                keyturn.consume("away", work -> handled.countDown());
                log.says(
                        "WARNING no turns can be taken; it is tried again (queues [away]): cannot reach " + away.address(),
                        "Connection refused");
                away.run();
                keyturn.get(keyturn.submit("away", QueueItem.of("ada", "x")));
                log.says("WARNING turns can be taken again (queues [away])");
                Wait.forLatch(handled);
            }
            assertEquals(2, log.lines.size(), log.lines.toString());
        }
    }

    @Test
    void theEndOfAConsumer() {
        try (Keyturn keyturn = connect()) {
            keyturn.consume("not a name!", work -> {});
            log.says("ERROR a consumer ends (queues [not a name!]): ", "queues[0]");
        }
    }
}
