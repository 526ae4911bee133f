package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** S583: what no Ack can take makes a dead letter at once: the work is done, and never runs again. */
@Tag("sidecar")
final class TooLargeTest {
    private static Sidecar sidecar;
    private final AtomicInteger attempts = new AtomicInteger();

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("default: { retry: { initial: 1ms, max: 1ms, max_attempts: 3 } }");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    private ItemFailedException failed(String queue, Consumer<Work> says) {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            attempts.set(0);
            keyturn.consume(queue, work -> {
                attempts.incrementAndGet();
                says.accept(work);
            });
            SubmitOutcome submitted = keyturn.get(keyturn.submit(queue, QueueItem.of("ada", "x")));
            return assertThrows(
                    ItemFailedException.class,
                    () -> keyturn.get(keyturn.result(queue, submitted.itemId(), Duration.ofSeconds(Wait.SECONDS))));
        }
    }

    private static Consumer<Work> followUps(int count, int bytes) {
        return work -> {
            for (int n = 0; n < count; n++) work.followUp("next", QueueItem.of("k", new byte[bytes]));
        };
    }

    @Test
    void itIsADeadLetterWithTheReasonAfterOneAttempt() {
        Map<String, Consumer<Work>> said = Map.of(
                "the result takes 1048577 bytes; at most 1048576", work -> work.result(new byte[1_048_577]),
                "there are 1001 follow-ups; at most 1000", followUps(1_001, 1),
                "followUps[0].item.payload: 1048577 bytes is not allowed; allowed: up to 1048576 bytes", followUps(1, 1_048_577));
        said.forEach((why, says) -> {
            ItemFailedException error = failed("large-" + Math.abs(why.hashCode()), says);
            assertEquals(ItemFailedException.State.DEAD, error.state());
            assertEquals(why, error.lastError().orElseThrow());
            assertEquals(1, attempts.get(), why);
        });
    }

    @Test
    void soIsWhatIsTooLargeTogether() {
        ItemFailedException error = failed("together", followUps(5, 1_000_000));
        String why = error.lastError().orElseThrow();
        assertTrue(why.matches("the result and the follow-ups take 5000\\d{3} bytes; at most 4194240 fit into one Ack"), why);
        assertEquals(1, attempts.get());
    }

    @Test
    void theMostThatFitsIsDone() {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.consume("fits", work -> {
                followUps(1_000, 3_000).accept(work);
                work.result(new byte[1_048_576]);
            });
            SubmitOutcome submitted = keyturn.get(keyturn.submit("fits", QueueItem.of("ada", "x")));
            assertEquals(1_048_576, keyturn.get(keyturn.result("fits", submitted.itemId())).orElseThrow().length);
        }
    }
}
