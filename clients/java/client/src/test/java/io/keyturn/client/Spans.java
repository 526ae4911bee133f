package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.keyturn.v1.EvictHolderRequest;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** An SDK that keeps the spans that it is told of. */
final class Spans implements AutoCloseable {
    private static final AttributeKey<String> MESSAGE_ID = AttributeKey.stringKey("messaging.message.id");
    final InMemorySpanExporter told = InMemorySpanExporter.create();
    final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(told))
                    .build())
            .build();

    Keyturn connect(Sidecar sidecar) {
        return connect(sidecar, TracingOptions.builder().openTelemetry(sdk).build());
    }

    static Keyturn connect(Sidecar sidecar, TracingOptions tracing) {
        return Keyturn.connect(sidecar.address(), KeyturnOptions.builder().tracing(tracing).build());
    }

    static void evict(Keyturn keyturn, String queue) {
        keyturn.admin().evictHolder(EvictHolderRequest.newBuilder().setQueue(queue).setKey("ada").build());
    }

    @Override
    public void close() {
        sdk.close();
        assertFalse(Span.current().getSpanContext().isValid(), "a span is left in this thread");
    }

    /** Runs it under a span. */
    <A> A under(Function<SpanContext, A> work) {
        Span span = sdk.getTracer("test").spanBuilder("order").startSpan();
        Scope scope = span.makeCurrent();
        try {
            return work.apply(span.getSpanContext());
        } finally {
            scope.close();
            span.end();
        }
    }

    static String written(SpanContext context) {
        return "00-" + context.getTraceId() + "-" + context.getSpanId() + "-" + context.getTraceFlags().asHex();
    }

    /** In the order of their beginning. */
    List<SpanData> named(String name) {
        return told.getFinishedSpanItems().stream()
                .filter(span -> span.getName().equals(name))
                .sorted(Comparator.comparingLong(SpanData::getStartEpochNanos))
                .toList();
    }

    SpanData only(String name) {
        List<SpanData> found = named(name);
        assertEquals(1, found.size(), name);
        return found.get(0);
    }

    static Map<String, Object> attributes(SpanData span) {
        Map<String, Object> made = new TreeMap<>();
        span.getAttributes().forEach((name, value) -> made.put(name.getKey(), value));
        return made;
    }

    static List<String> events(SpanData span) {
        return span.getEvents().stream().map(EventData::getName).toList();
    }

    static List<String> errors(SpanData span) {
        AttributeKey<String> message = AttributeKey.stringKey("exception.message");
        return span.getEvents().stream()
                .filter(event -> event.getName().equals("exception"))
                .map(event -> event.getAttributes().get(message))
                .toList();
    }

    static List<String> links(SpanData span) {
        return span.getLinks().stream().map(Spans::shown).toList();
    }

    static String shown(LinkData link) {
        return written(link.getSpanContext()) + " " + link.getAttributes().get(MESSAGE_ID);
    }
}
