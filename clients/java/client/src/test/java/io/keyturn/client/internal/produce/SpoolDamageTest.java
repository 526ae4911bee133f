package io.keyturn.client.internal.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keyturn.client.Keyturn;
import io.keyturn.client.Producer;
import io.keyturn.client.ProducerOptions;
import io.keyturn.client.QueueItem;
import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.SpoolException;
import io.keyturn.client.SpoolOptions;
import io.keyturn.client.Wait;
import io.keyturn.client.internal.words.SpoolSettings;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a producer tells of a spool whose files are not as they were written. */
class SpoolDamageTest {
    private static Throwable causeOf(CompletableFuture<?> future) {
        return assertThrows(ExecutionException.class, () -> future.get(Wait.SECONDS, TimeUnit.SECONDS))
                .getCause();
    }

    @Test
    void aTornTailIsCutAwayAndToldAndDamageIsRefused(@TempDir Path directory) throws Exception {
        List<Throwable> troubles = new CopyOnWriteArrayList<>();
        ProducerOptions options = ProducerOptions.builder()
                .spool(SpoolOptions.builder(directory).interval(Duration.ofMillis(1)).count(1).build())
                .onError((error, item) -> troubles.add(error))
                .build();
        try (Keyturn keyturn = Keyturn.connect("127.0.0.1:1")) {
            // Without a producer, which would begin to read, and so another segment.
            Spool spool = new Spool(
                    new SpoolSettings(directory, Duration.ofMillis(1), 1, 1 << 20, Duration.ofMillis(200)), "q");
            spool.append(List.of(0, 1, 2).stream().map(n -> Spool.encode(QueueItem.of("k", "text " + n))).toList());
            SpoolException inUse = assertInstanceOf(
                    SpoolException.class, causeOf(keyturn.producer("q", options).add(QueueItem.of("k", "x"))));
            assertEquals(Problem.IN_USE, inUse.problem());
            spool.close();
            troubles.clear();
            Path segment = onlySegment(directory);
            try (RandomAccessFile file = new RandomAccessFile(segment.toFile(), "rw")) {
                file.setLength(file.length() - 3);
            }
            try (Producer producer = keyturn.producer("q", options)) {
                Wait.until(() -> !troubles.isEmpty());
                assertEquals(Problem.TORN, ((SpoolException) troubles.get(0)).problem());
                assertEquals(2, producer.spooled());
            }
            SpoolException other = assertInstanceOf(
                    SpoolException.class, causeOf(keyturn.producer("other", options).add(QueueItem.of("k", "x"))));
            assertEquals(Problem.OTHER_QUEUE, other.problem());
            byte[] bytes = Files.readAllBytes(segment);
            // In the first item: whole records follow, so it is no torn tail.
            bytes[SpoolSegment.title("q").length + SpoolRecord.HEADER + 2] ^= 1;
            Files.write(segment, bytes);
            SpoolException damaged = assertInstanceOf(
                    SpoolException.class, causeOf(keyturn.producer("q", options).add(QueueItem.of("k", "x"))));
            assertEquals(Problem.DAMAGED, damaged.problem());
        }
    }

    private static Path onlySegment(Path directory) throws Exception {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".spool")).findFirst().orElseThrow();
        }
    }
}
