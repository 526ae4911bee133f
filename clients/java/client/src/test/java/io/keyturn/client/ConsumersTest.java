package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.v1.EvictHolderRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("sidecar")
class ConsumersTest {
    private static Sidecar sidecar;
    private Keyturn keyturn;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("default: { retry: { initial: 1ms, max: 1ms } }");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    @BeforeEach
    void connect() {
        keyturn = Keyturn.connect(sidecar.address());
    }

    @AfterEach
    void close() {
        keyturn.close(Duration.ZERO);
    }

    private String submit(String queue, String key, String text) {
        return keyturn.get(keyturn.submit(queue, QueueItem.of(key, text))).itemId();
    }

    @Test
    void eachKeyIsInOrderAndNoMoreHandlersRunThanAllowed() throws Exception {
        int keys = 5;
        int each = 40;
        int concurrency = 3;
        List<QueueItem> items = new ArrayList<>();
        for (int n = 0; n < keys * each; n++) items.add(QueueItem.of("key-" + n % keys, Integer.toString(n)));
        keyturn.get(keyturn.submitMany("order", items));
        Map<String, List<Integer>> seen = new ConcurrentHashMap<>();
        AtomicInteger atOnce = new AtomicInteger();
        AtomicInteger mostAtOnce = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(keys * each);
        ConsumerOptions options =
                ConsumerOptions.builder().concurrency(concurrency).build();
        keyturn.consume(
                "order", options,
                work -> {
                    mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
                    seen.computeIfAbsent(work.key(), key -> new ArrayList<>())
                            .add(Integer.valueOf(work.item().text()));
                    atOnce.decrementAndGet();
                    done.countDown();
                });
        Wait.forLatch(done);
        assertTrue(mostAtOnce.get() <= concurrency, mostAtOnce + " at once");
        for (List<Integer> numbers : seen.values()) {
            assertEquals(numbers.stream().sorted().toList(), numbers);
            assertEquals(each, numbers.size());
        }
    }

    @Test
    void aRetryADeadLetterAndAResult() {
        ConsumerOptions options = ConsumerOptions.builder().concurrency(4).build();
        keyturn.consume(
                "fates", options,
                work -> {
                    if (work.item().text().equals("bad")) throw new DeadLetterException("it is bad");
                    if (work.attempt() < 3) throw new IllegalStateException("not yet");
                    work.result(("attempt " + work.attempt()).getBytes());
                });
        String bad = submit("fates", "a", "bad");
        String good = submit("fates", "b", "good");
        ItemFailedException failed =
                assertThrows(ItemFailedException.class, () -> keyturn.get(keyturn.result("fates", bad)));
        assertEquals(ItemFailedException.State.DEAD, failed.state());
        assertEquals(Optional.of("it is bad"), failed.lastError());
        assertEquals("attempt 3", new String(keyturn.get(keyturn.result("fates", good)).orElseThrow()));
    }

    @Test
    void whatTheHandlerFollowsUpIsSubmittedWithTheEndOfItsTurn() {
        keyturn.consume("one", work -> work.followUp("two", QueueItem.of(work.key(), "next").withItemId("follows")));
        submit("one", "k", "first");
        keyturn.consume("two", work -> work.result(work.item().payload()));
        Wait.until(() -> keyturn.get(keyturn.result("two", "follows", Duration.ofSeconds(30)).handle((r, e) -> e == null)));
        assertEquals("next", new String(keyturn.get(keyturn.result("two", "follows")).orElseThrow()));
    }

    @Test
    void aLostTurnInterruptsItsHandlerAndIsTold() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        ConsumerOptions options = ConsumerOptions.builder()
                .onError((error, stage, work) -> {
                    if (stage == Stage.TURN_LOST) told.complete(error);
                })
                .build();
        keyturn.consume(
                "lost", options,
                work -> {
                    if (work.attempt() > 1 || started.getCount() == 0) return;
                    started.countDown();
                    new CountDownLatch(1).await();
                });
        submit("lost", "k", "x");
        Wait.forLatch(started);
        keyturn.admin()
                .evictHolder(EvictHolderRequest.newBuilder().setQueue("lost").setKey("k").build());
        TurnLostException error =
                assertInstanceOf(TurnLostException.class, told.get(Wait.SECONDS, TimeUnit.SECONDS));
        assertEquals(TurnLoss.EVICTED, error.loss());
    }

    @Test
    void aStopLetsHandlersFinish() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch finish = new CountDownLatch(1);
        Consumer consumer = keyturn.consume("stop", work -> {
            started.countDown();
            finish.await();
            work.result("finished".getBytes());
        });
        String id = submit("stop", "k", "x");
        Wait.forLatch(started);
        CompletableFuture<Void> stopped = consumer.stop(Duration.ofMinutes(1));
        assertFalse(stopped.isDone());
        assertEquals(1, consumer.running());
        finish.countDown();
        stopped.get(Wait.SECONDS, TimeUnit.SECONDS);
        assertEquals("finished", new String(keyturn.get(keyturn.result("stop", id)).orElseThrow()));
    }

    @Test
    void aStopEndsThoughAHandlerDoesNot() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch finish = new CountDownLatch(1);
        Consumer consumer = keyturn.consume("stubborn", work -> {
            started.countDown();
            boolean over = false;
            while (!over) {
                try {
                    finish.await();
                    over = true;
                } catch (InterruptedException ignored) {
                    over = false;
                }
            }
        });
        submit("stubborn", "k", "x");
        Wait.forLatch(started);
        CompletableFuture<Void> stopped = consumer.stop(Duration.ofMillis(100));
        ExecutionException told = assertThrows(ExecutionException.class, () -> stopped.get(Wait.SECONDS, TimeUnit.SECONDS));
        assertInstanceOf(ConsumerStoppedException.class, told.getCause());
        Wait.until(() -> Wait.explain(keyturn, "stubborn", "k").getWaitingItems() == 1);
        finish.countDown();
    }

    @Test
    void whatWouldBeRefusedAgainEndsAConsumer() {
        Consumer consumer = keyturn.consume("not a name!", work -> {});
        ExecutionException ended = assertThrows(
                ExecutionException.class, () -> consumer.done().get(Wait.SECONDS, TimeUnit.SECONDS));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                assertInstanceOf(KeyturnException.class, ended.getCause()).code());
    }
}
