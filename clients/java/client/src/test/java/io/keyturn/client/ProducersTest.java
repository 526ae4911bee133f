package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.ProducerOptions.WhenFull;
import io.keyturn.client.SpoolException.Problem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("sidecar")
class ProducersTest {
    private static final int MANY = 500;

    /** What came, in order. */
    private static List<String> consumed(Keyturn keyturn, String queue, int count) {
        List<String> seen = new CopyOnWriteArrayList<>();
        keyturn.consume(queue, work -> seen.add(work.item().text()));
        Wait.until(() -> seen.size() >= count);
        return seen;
    }

    private static List<String> numbers(int from, int to) {
        return IntStream.range(from, to).mapToObj(Integer::toString).toList();
    }

    private static Throwable causeOf(CompletableFuture<?> future) {
        return assertThrows(ExecutionException.class, () -> future.get(Wait.SECONDS, TimeUnit.SECONDS))
                .getCause();
    }

    @Test
    void itemsAreHandedOverInOrderAndAFlushWaitsForThem() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address());
                Producer producer = keyturn.producer("q")) {
            List<CompletableFuture<ProducerResult>> added = new ArrayList<>();
            for (int n = 0; n < MANY; n++) {
                producer.ready();
                added.add(producer.add(QueueItem.of("k", Integer.toString(n))));
            }
            producer.flush().get(Wait.SECONDS, TimeUnit.SECONDS);
            assertEquals(0, producer.pending());
            for (CompletableFuture<ProducerResult> one : added) assertFalse(one.get().spooled());
            assertEquals(numbers(0, MANY), consumed(keyturn, "q", MANY));
        }
    }

    @Test
    void anItemThatIsRefusedIsRefusedAlone() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address());
                // One batch of three, however slow the machine is.
                Producer producer = keyturn.producer(
                        "q",
                        ProducerOptions.builder().count(3).interval(Duration.ofMinutes(1)).build())) {
            CompletableFuture<ProducerResult> first = producer.add(QueueItem.of("k", "0"));
            CompletableFuture<ProducerResult> wrong = producer.add(QueueItem.of("k".repeat(2_000), "x"));
            CompletableFuture<ProducerResult> last = producer.add(QueueItem.of("k", "1"));
            assertTrue(assertInstanceOf(KeyturnException.class, causeOf(wrong))
                    .violations().get(0).field().startsWith("items[1]"));
            // What is left of the batch is no batch of three.
            producer.flush();
            assertTrue(first.get().result().orElseThrow().accepted());
            assertTrue(last.get().result().orElseThrow().accepted());
        }
    }

    @Test
    void whatHasNoRoomIsRefused() {
        ProducerOptions options = ProducerOptions.builder().maxItems(2).whenFull(WhenFull.ERROR).build();
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1")) {
            Producer producer = keyturn.producer("q", options);
            for (int n = 0; n < 2; n++) producer.add(QueueItem.of("k", Integer.toString(n)));
            assertInstanceOf(ProducerFullException.class, causeOf(producer.add(QueueItem.of("k", "2"))));
            producer.close(Duration.ZERO);
        }
    }

    @Test
    void whatIsLateTimesOut() {
        ProducerOptions options = ProducerOptions.builder().timeout(Duration.ofMillis(300)).build();
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1")) {
            Producer producer = keyturn.producer("q", options);
            assertInstanceOf(ProducerTimeoutException.class, causeOf(producer.add(QueueItem.of("k", "0"))));
            producer.close();
            assertInstanceOf(ProducerClosedException.class, causeOf(producer.add(QueueItem.of("k", "3"))));
        }
    }

    @Test
    void aCloseWithATimeoutRefusesWhatIsLeft() {
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1")) {
            Producer producer = keyturn.producer("q");
            CompletableFuture<ProducerResult> added = producer.add(QueueItem.of("k", "0"));
            producer.close(Duration.ofMillis(100));
            assertInstanceOf(ProducerClosedException.class, causeOf(added));
        }
    }

    @Test
    void aSpoolKeepsItemsWhileTheSidecarIsAwayAndHandsThemOverInOrder(@TempDir Path directory) throws Exception {
        List<Throwable> troubles = new CopyOnWriteArrayList<>();
        ProducerOptions options = spooling(directory, troubles);
        Sidecar sidecar = Sidecar.start();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.turn("q", "warm").close();
            sidecar.kill();
            try (Producer producer = keyturn.producer("q", options)) {
                for (int n = 0; n < 50; n++) {
                    assertTrue(producer.add(QueueItem.of("k", Integer.toString(n))).get(Wait.SECONDS, TimeUnit.SECONDS).spooled());
                }
                assertEquals(50, producer.spooled());
            }
            // Of another process, as it were: what is on disk is handed over before anything new.
            sidecar.run();
            try (Producer producer = keyturn.producer("q", options)) {
                for (int n = 50; n < 60; n++) producer.add(QueueItem.of("k", Integer.toString(n)));
                assertEquals(numbers(0, 60), consumed(keyturn, "q", 60));
                Wait.until(() -> producer.spooled() == 0);
            }
            assertEquals(List.of(), troubles);
        } finally {
            sidecar.close();
        }
    }

    @Test
    void aSpoolKeepsItemsWhileTheQueueIsFullAndHandsThemOverInOrder(@TempDir Path directory) throws Exception {
        List<Throwable> troubles = new CopyOnWriteArrayList<>();
        try (Sidecar sidecar = Sidecar.start("queues: { small: { max_waiting: 2 } }");
                Keyturn keyturn = Keyturn.connect(sidecar.address());
                Producer producer = keyturn.producer("small", spooling(directory, troubles))) {
            for (int n = 0; n < 2; n++) keyturn.get(keyturn.submit("small", QueueItem.of("k", Integer.toString(n))));
            for (int n = 2; n < 10; n++) {
                assertTrue(producer.add(QueueItem.of("k", Integer.toString(n))).get(Wait.SECONDS, TimeUnit.SECONDS).spooled());
            }
            assertEquals(numbers(0, 10), consumed(keyturn, "small", 10));
            Wait.until(() -> producer.spooled() == 0);
            assertTrue(producer.add(QueueItem.of("k", "10")).get(Wait.SECONDS, TimeUnit.SECONDS).result().isPresent());
            assertEquals(List.of(), troubles);
        }
    }

    private static ProducerOptions spooling(Path directory, List<Throwable> troubles) {
        return ProducerOptions.builder()
                .spool(SpoolOptions.builder(directory)
                        .interval(Duration.ofMillis(1))
                        .count(1)
                        .patience(Duration.ofMillis(200))
                        .build())
                .onError((error, item) -> troubles.add(error))
                .build();
    }

    @Test
    void aSpoolWhoseDirectoryCannotBeIsToldWithEveryItem(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "not a directory");
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        ProducerOptions options = ProducerOptions.builder()
                .spool(SpoolOptions.builder(file.resolve("spool")).build())
                .onError((error, item) -> told.complete(error))
                .build();
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1");
                Producer producer = keyturn.producer("spool", options)) {
            SpoolException error = assertInstanceOf(SpoolException.class, told.get(Wait.SECONDS, TimeUnit.SECONDS));
            assertEquals(Problem.IO, error.problem());
            CompletableFuture<ProducerResult> added = producer.add(QueueItem.of("k", "x"));
            ExecutionException refused =
                    assertThrows(ExecutionException.class, () -> added.get(Wait.SECONDS, TimeUnit.SECONDS));
            assertInstanceOf(SpoolException.class, refused.getCause());
        }
    }
}
