package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keyturn.v1.AcquireRequest;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** S451: what an application that traces gets of items and attempts. */
@Tag("sidecar")
class TracingTest extends TracedClient {
    /** Until these have an end. */
    private void consume(String queue, WorkHandler handler, List<String> ids) {
        ConsumerOptions options = ConsumerOptions.builder().maxItemsPerTurn(10).build();
        Consumer consumer = keyturn.consume(queue, options, handler);
        for (String id : ids) {
            try {
                keyturn.get(keyturn.result(queue, id, Duration.ofSeconds(Wait.SECONDS)));
            } catch (ItemFailedException dead) {
                continue;
            }
        }
        consumer.close();
    }

    @Test
    void everyWayToSubmitWritesItAndAnAttemptLinksToEachOfItsItems() {
        List<String> ids = new ArrayList<>();
        SpanContext order = spans.under(context -> {
            ids.add(keyturn.get(keyturn.submit("ways", QueueItem.of("a", "1"))).itemId());
            List<QueueItem> more = List.of(QueueItem.of("a", "2"), QueueItem.of("a", "3"));
            keyturn.get(keyturn.submitMany("ways", more)).forEach(one -> ids.add(one.itemId()));
            try (Producer producer = keyturn.producer("ways")) {
                ids.add(keyturn.get(producer.add(QueueItem.of("a", "4"))).itemId());
            }
            return context;
        });
        String none = keyturn.get(keyturn.submit("ways", QueueItem.of("a", "5"))).itemId();
        List<Map<String, String>> headers = new CopyOnWriteArrayList<>();
        consume("ways", work -> work.items().forEach(item -> headers.add(item.headers())), List.of(none));
        SpanData attempt = spans.only("process ways");
        assertEquals(ids.stream().map(id -> Spans.written(order) + " " + id).toList(), Spans.links(attempt));
        assertEquals(Map.of(), headers.get(4));
        assertFalse(attempt.getParentSpanContext().isValid());
        assertEquals(5L, Spans.attributes(attempt).get("messaging.batch.message_count"));
        assertNull(Spans.attributes(attempt).get("messaging.message.id"));
    }

    @Test
    void anAttemptIsASpanOfAConsumerAndARetryIsAnother() {
        List<SpanContext> active = new CopyOnWriteArrayList<>();
        List<Long> tokens = new CopyOnWriteArrayList<>();
        List<String> ids = new ArrayList<>();
        SpanContext order = spans.under(context -> {
            ids.add(keyturn.get(keyturn.submit("fast", QueueItem.of("ada", "1"))).itemId());
            return context;
        });
        consume("fast", work -> {
            active.add(Span.current().getSpanContext());
            tokens.add(work.token());
            if (work.attempt() == 1) throw new IllegalStateException("no stock");
            work.followUp("mails", QueueItem.of("", "mail"));
        }, ids);
        List<SpanData> attempts = spans.named("process fast");
        assertEquals(active, attempts.stream().map(SpanData::getSpanContext).toList());
        for (SpanData attempt : attempts) {
            assertEquals(SpanKind.CONSUMER, attempt.getKind());
            assertEquals(List.of(Spans.written(order) + " " + ids.get(0)), Spans.links(attempt));
        }
        Map<String, Object> expected = new TreeMap<>(Map.of(
                "messaging.system", "keyturn",
                "messaging.operation.type", "process",
                "messaging.operation.name", "process",
                "messaging.destination.name", "fast",
                "messaging.message.id", ids.get(0),
                "keyturn.attempt", 1L,
                "keyturn.token", tokens.get(0),
                "keyturn.outcome", "retry",
                "error.type", "java.lang.IllegalStateException"));
        SpanData first = attempts.get(0);
        SpanData second = attempts.get(1);
        assertEquals(expected, Spans.attributes(first));
        assertEquals(StatusCode.ERROR, first.getStatus().getStatusCode());
        assertEquals("no stock", first.getStatus().getDescription());
        assertEquals(List.of("no stock"), Spans.errors(first));
        assertEquals("ack", Spans.attributes(second).get("keyturn.outcome"));
        assertEquals(2L, Spans.attributes(second).get("keyturn.attempt"));
        assertEquals(StatusCode.UNSET, second.getStatus().getStatusCode());
        AcquireRequest mails = AcquireRequest.newBuilder().addQueues("mails").build();
        var mail = keyturn.get(keyturn.acquire(mails, CallSettings.DEFAULT)).getDeliveries(0).getItems(0);
        assertEquals(Map.of("traceparent", Spans.written(active.get(1))), mail.getHeadersMap());
    }

    @Test
    void withParentItIsAChildAndWithKeyItSaysTheKey() {
        keyturn.close();
        keyturn = Spans.connect(sidecar, TracingOptions.builder().parent(true).key(true).openTelemetry(spans.sdk).build());
        List<String> ids = new ArrayList<>();
        SpanContext order = spans.under(context -> {
            ids.add(keyturn.get(keyturn.submit("child", QueueItem.of("ada", "1"))).itemId());
            return context;
        });
        consume("child", work -> {}, ids);
        SpanData attempt = spans.only("process child");
        assertEquals(Spans.written(order), Spans.written(attempt.getParentSpanContext()));
        assertEquals(List.of(), attempt.getLinks());
        assertEquals("ada", Spans.attributes(attempt).get("keyturn.key"));
    }

    private record End(String queue, Supplier<RuntimeException> thrown, String outcome, List<String> errors) {}

    @Test
    void anAttemptSaysHowItEnded() {
        List<End> ends = List.of(
                new End("fast", () -> new RetryLaterException(Duration.ZERO, "later", null, 0), "retry", List.of("later")),
                new End("fast", () -> new DeadLetterException("never"), "dead_letter", List.of("never")),
                new End("single", () -> new IllegalStateException("too often"), "dead_letter", List.of("too often")),
                new End("fast", ReleaseException::new, "release", List.of()));
        for (End end : ends) {
            spans.told.reset();
            AtomicInteger calls = new AtomicInteger();
            String id = keyturn.get(keyturn.submit(end.queue(), QueueItem.of("", "1"))).itemId();
            consume(end.queue(), work -> {
                if (calls.incrementAndGet() == 1) throw end.thrown().get();
            }, List.of(id));
            SpanData first = spans.named("process " + end.queue()).get(0);
            assertEquals(end.outcome(), Spans.attributes(first).get("keyturn.outcome"), end.toString());
            assertEquals(end.errors(), Spans.errors(first));
            assertEquals(end.errors().isEmpty(), first.getStatus().getStatusCode() == StatusCode.UNSET);
        }
    }

    @Test
    void anAttemptSaysThatItsTurnWasLostAndThatAStopCutItOff() throws Exception {
        CountDownLatch lost = new CountDownLatch(1);
        keyturn.submit("lost", QueueItem.of("ada", "1"));
        Consumer consumer = keyturn.consume("lost", work -> {
            Spans.evict(keyturn, "lost");
            work.onLost(loss -> lost.countDown());
            Wait.forLatch(lost);
        });
        Wait.until(() -> !spans.named("process lost").isEmpty());
        consumer.close();
        assertEquals("lost", Spans.attributes(spans.named("process lost").get(0)).get("keyturn.outcome"));

        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        keyturn.submit("deaf", QueueItem.of("", "1"));
        ConsumerOptions options = ConsumerOptions.builder().interrupts(false).build();
        Consumer deaf = keyturn.consume("deaf", options, work -> {
            begun.countDown();
            while (over.getCount() > 0) {
                try {
                    over.await();
                } catch (InterruptedException told) {
                    continue;
                }
            }
        });
        Wait.forLatch(begun);
        assertThrows(ConsumerStoppedException.class, () -> keyturn.get(deaf.stop(Duration.ZERO)));
        over.countDown();
        Wait.until(() -> !spans.named("process deaf").isEmpty());
        assertEquals("release", Spans.attributes(spans.only("process deaf")).get("keyturn.outcome"));
        assertEquals(StatusCode.ERROR, spans.only("process deaf").getStatus().getStatusCode());
    }
}
