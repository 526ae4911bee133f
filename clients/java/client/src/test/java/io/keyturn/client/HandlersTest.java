package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Where handlers run, and what becomes of work that cannot be begun. */
@Tag("sidecar")
@Isolated("counts the threads of the process")
class HandlersTest {
    private static Sidecar sidecar;
    private ExecutorService threads;
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
        threads = Executors.newSingleThreadExecutor(task -> new Thread(task, "of-the-application"));
        keyturn = Keyturn.connect(sidecar.address());
    }

    @AfterEach
    void close() {
        keyturn.close(Duration.ZERO);
        threads.shutdownNow();
    }

    private static ConsumerOptions in(Executor executor, int concurrency) {
        return ConsumerOptions.builder().executor(executor).concurrency(concurrency).build();
    }

    private void submit(String queue, int items) {
        for (int n = 0; n < items; n++) keyturn.get(keyturn.submit(queue, QueueItem.of("key-" + n, "x")));
    }

    @Test
    void handlersRunInTheExecutorOfTheApplicationWhichOutlivesThem() throws Exception {
        Set<String> names = ConcurrentHashMap.newKeySet();
        CountDownLatch handled = new CountDownLatch(10);
        Consumer consumer = keyturn.consume(
                "executor", in(threads, 4),
                work -> {
                    names.add(Thread.currentThread().getName());
                    handled.countDown();
                });
        submit("executor", 10);
        Wait.forLatch(handled);
        consumer.close();
        assertEquals(Set.of("of-the-application"), names);
        assertFalse(threads.isShutdown());
    }

    @Test
    void whatTheExecutorRefusesIsGivenBackAndTriedAgain() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        CompletableFuture<Integer> attempt = new CompletableFuture<>();
        CompletableFuture<Stage> told = new CompletableFuture<>();
        ConsumerOptions options = ConsumerOptions.builder()
                .executor(task -> {
                    if (refused.incrementAndGet() <= 3) throw new RejectedExecutionException("full");
                    threads.execute(task);
                })
                .onError((error, stage, work) -> told.complete(stage))
                .build();
        Consumer consumer = keyturn.consume("refused", options, work -> attempt.complete(work.attempt()));
        submit("refused", 1);
        assertEquals(1, attempt.get(Wait.SECONDS, TimeUnit.SECONDS), "no attempt counts");
        assertEquals(Stage.HANDLER, told.get());
        consumer.close();
    }

    @Test
    void noHandlerRunsInTheThreadThatTellsAnswers() throws Exception {
        AtomicInteger handled = new AtomicInteger();
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        ConsumerOptions options = ConsumerOptions.builder()
                .executor(Runnable::run)
                .onError((error, stage, work) -> told.complete(error))
                .build();
        Consumer consumer = keyturn.consume("direct", options, work -> handled.incrementAndGet());
        submit("direct", 1);
        KeyturnException error = assertInstanceOf(KeyturnException.class, told.get(Wait.SECONDS, TimeUnit.SECONDS));
        assertEquals(Status.Code.FAILED_PRECONDITION, error.code());
        consumer.close();
        assertEquals(0, handled.get());
    }

    @Test
    void aStopGivesBackWhatWaitsInTheExecutor() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger handled = new AtomicInteger();
        Consumer consumer = keyturn.consume(
                "queued", in(threads, 4),
                work -> {
                    begun.countDown();
                    go.await();
                    handled.incrementAndGet();
                });
        submit("queued", 4);
        Wait.forLatch(begun);
        Wait.until(() -> consumer.running() == 4);
        CompletableFuture<Void> stopped = consumer.stop(Duration.ofSeconds(20));
        go.countDown();
        stopped.get(Wait.SECONDS, TimeUnit.SECONDS);
        assertEquals(1, handled.get());
        Queue<Integer> attempts = new ConcurrentLinkedQueue<>();
        CountDownLatch rest = new CountDownLatch(3);
        keyturn.consume("queued", work -> {
            attempts.add(work.attempt());
            rest.countDown();
        });
        Wait.forLatch(rest);
        assertEquals(List.of(1, 1, 1), List.copyOf(attempts), "no attempt counts");
    }

    @Test
    void anExecutorThatBeginsTooLateBeginsNothing() throws Exception {
        Queue<Runnable> late = new ConcurrentLinkedQueue<>();
        AtomicInteger handled = new AtomicInteger();
        Consumer consumer = keyturn.consume("late", in(late::add, 1), work -> handled.incrementAndGet());
        submit("late", 1);
        Wait.until(() -> !late.isEmpty());
        consumer.stop(Duration.ZERO).get(Wait.SECONDS, TimeUnit.SECONDS);
        late.remove().run();
        assertEquals(0, handled.get(), "the turn is somebody else's by then");
    }

    /** What cannot even say what it is. */
    private static final class Unspeakable extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no message");
        }
    }

    @Test
    void anExceptionThatCannotSayWhatItIsIsARetryAsAnyOther() throws Exception {
        CompletableFuture<Integer> attempt = new CompletableFuture<>();
        keyturn.consume("unspeakable", work -> {
            if (work.attempt() == 1) throw new Unspeakable();
            attempt.complete(work.attempt());
        });
        submit("unspeakable", 1);
        assertEquals(2, attempt.get(Wait.SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void callsThatWaitTakeNoThreads() throws Exception {
        int calls = 10_000;
        keyturn.get(keyturn.enQueue(EnQueueRequest.newBuilder().setQueue("wait").setKey("held").build()));
        int before = Thread.activeCount();
        List<CompletableFuture<EnQueueResponse>> asked = new ArrayList<>();
        for (int n = 0; n < calls; n++) {
            asked.add(keyturn.enQueue(EnQueueRequest.newBuilder().setQueue("wait").setKey("key-" + n).build()));
        }
        for (CompletableFuture<EnQueueResponse> one : asked) assertTrue(one.get(Wait.SECONDS, TimeUnit.SECONDS).hasTurn());
        assertTrue(Thread.activeCount() <= before + 2, Thread.activeCount() + " threads, " + before + " before");
    }
}
