package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.v1.AcquireRequest;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** S451: what it gets of turns, and what one that does not trace is spared. */
@Tag("sidecar")
class TracedTurnsTest extends TracedClient {
    @Test
    void aTurnIsASpanBelowTheCallers() {
        List<SpanContext> seen = new ArrayList<>();
        SpanContext around = spans.under(context -> {
            keyturn.withTurn("done", "ada", turn -> seen.add(Span.current().getSpanContext()));
            assertEquals(context, Span.current().getSpanContext());
            return context;
        });
        SpanData done = spans.only("turn done");
        assertEquals(seen, List.of(done.getSpanContext()));
        assertEquals(around, done.getParentSpanContext());
        assertEquals(List.of("waiting", "granted"), Spans.events(done));
        assertEquals("done", Spans.attributes(done).get("keyturn.outcome"));
        assertEquals("done", Spans.attributes(done).get("keyturn.queue"));
        assertTrue((Long) Spans.attributes(done).get("keyturn.token") > 0);
        assertNull(Spans.attributes(done).get("keyturn.key"));

        assertThrows(IllegalStateException.class, () -> keyturn.withTurn("failed", "ada", turn -> {
            throw new IllegalStateException("boom");
        }));
        assertEquals(List.of("boom"), Spans.errors(spans.only("turn failed")));
        assertEquals("failed", Spans.attributes(spans.only("turn failed")).get("keyturn.outcome"));

        CountDownLatch told = new CountDownLatch(1);
        TurnOptions quiet = TurnOptions.builder().interrupts(false).build();
        assertThrows(TurnLostException.class, () -> keyturn.withTurnChecked("evicted", "ada", quiet, turn -> {
            turn.onLost(loss -> told.countDown());
            Spans.evict(keyturn, "evicted");
            Wait.forLatch(told);
            return 1;
        }));
        SpanData lost = spans.only("turn evicted");
        assertEquals(List.of("waiting", "granted", "lost", "exception"), Spans.events(lost));
        assertEquals("evicted", lost.getEvents().get(2).getAttributes().get(AttributeKey.stringKey("keyturn.loss")));
        assertEquals("lost", Spans.attributes(lost).get("keyturn.outcome"));
    }

    @Test
    void aTurnByHandEndsWithItAndOneThatDoesNotComeSaysSo() throws Exception {
        try (ScopedTurn turn = keyturn.turn("hand", "ada")) {
            assertTrue(Span.current().getSpanContext().isValid());
            TurnOptions atOnce = TurnOptions.builder().waitFor(Duration.ZERO).build();
            assertFalse(keyturn.turn("hand", "ada", atOnce).granted());
            assertEquals("blocked", Spans.attributes(spans.only("turn hand")).get("keyturn.outcome"));
            Thread other = new Thread(turn::complete);
            other.start();
            other.join();
            assertEquals("done", Spans.attributes(spans.named("turn hand").get(0)).get("keyturn.outcome"));
        }
        assertFalse(Span.current().getSpanContext().isValid());
        try (ScopedTurn turn = keyturn.turn("given", "ada")) {
            assertTrue(turn.granted());
        }
        assertEquals("failed", Spans.attributes(spans.only("turn given")).get("keyturn.outcome"));
        TurnOptions once = TurnOptions.builder().idempotencyKey("one").build();
        keyturn.withTurn("once", "ada", once, turn -> 1);
        keyturn.withTurn("once", "ada", once, turn -> 1);
        assertEquals("declined", Spans.attributes(spans.named("turn once").get(1)).get("keyturn.outcome"));
        // Another thread may end these: their spans are active in none.
        QueueCoordinator<String> coordinator = keyturn.coordinator("article", key -> key);
        assertTrue(coordinator.enQueue("ada"));
        assertFalse(Span.current().getSpanContext().isValid());
        coordinator.deQueue("ada");
        assertEquals("done", Spans.attributes(spans.only("turn article")).get("keyturn.outcome"));
        keyturn.close();
        assertThrows(KeyturnException.class, () -> keyturn.turn("closed", "ada"));
        assertEquals("failed", Spans.attributes(spans.only("turn closed")).get("keyturn.outcome"));
    }

    @Test
    void withoutAnSdkNothingIsMadeAndOneThatComesLaterIsFound() {
        GlobalOpenTelemetry.resetForTest();
        try (Keyturn client = Keyturn.connect(sidecar.address())) {
            client.withTurn("later", "ada", turn -> 1);
            assertFalse(GlobalOpenTelemetry.isSet(), "who asks for it makes it one that does nothing");
            GlobalOpenTelemetry.set(spans.sdk);
            client.withTurn("later", "ada", turn -> 1);
            assertEquals(1, spans.named("turn later").size());
        } finally {
            GlobalOpenTelemetry.resetForTest();
        }
        try (Keyturn client = Spans.connect(sidecar, TracingOptions.builder().openTelemetry(OpenTelemetry.noop()).build())) {
            assertTrue(client.withTurn("noop", "ada", turn -> 1) instanceof TurnOutcome.Done<Integer>);
        }
        KeyturnOptions off = KeyturnOptions.builder().withoutTracing().build();
        spans.under(context -> {
            try (Keyturn client = Keyturn.connect(sidecar.address(), off)) {
                return client.get(client.submit("off", QueueItem.of("", "1")));
            }
        });
        AcquireRequest request = AcquireRequest.newBuilder().addQueues("off").build();
        var item = keyturn.get(keyturn.acquire(request, CallSettings.DEFAULT)).getDeliveries(0).getItems(0);
        assertEquals(Map.of(), item.getHeadersMap());
    }

    @Test
    void whatAnSdkThrowsBreaksNothing() {
        OpenTelemetry broken = new OpenTelemetry() {
            @Override
            public io.opentelemetry.api.trace.TracerProvider getTracerProvider() {
                throw new IllegalStateException("the SDK is broken");
            }

            @Override
            public io.opentelemetry.context.propagation.ContextPropagators getPropagators() {
                throw new IllegalStateException("the SDK is broken");
            }
        };
        try (Keyturn client = Spans.connect(sidecar, TracingOptions.builder().openTelemetry(broken).build())) {
            assertTrue(client.withTurn("broken", "ada", turn -> 1) instanceof TurnOutcome.Done<Integer>);
        }
        assertThrows(KeyturnException.class, () -> TracingOptions.builder().openTelemetry(null));
        assertThrows(KeyturnException.class, () -> KeyturnOptions.builder().tracing(null));
    }
}
