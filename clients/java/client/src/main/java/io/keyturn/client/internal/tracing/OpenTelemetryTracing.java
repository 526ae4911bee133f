package io.keyturn.client.internal.tracing;

import io.keyturn.client.DeliveredItem;
import io.keyturn.client.QueueItem;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.client.internal.words.Tracing;
import io.keyturn.client.internal.words.TracingSettings;
import io.keyturn.client.internal.words.Version;
import io.keyturn.v1.Turn;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import java.lang.System.Logger;
import java.util.List;
import java.util.Map;

/**
 * Spans by the conventions for messaging. An attempt links to the span that submitted its item: its trace may be hours old, and a
 * turn may have many items.
 */
final class OpenTelemetryTracing implements Tracing {
    private static final AttributeKey<String> MESSAGE_ID = AttributeKey.stringKey("messaging.message.id");

    private final TracingSettings settings;
    private final Quietly quietly;
    private volatile Tracer found;

    OpenTelemetryTracing(TracingSettings settings, Logger logger) {
        this.settings = settings;
        this.quietly = new Quietly(logger);
    }

    @Override
    public QueueItem stamped(QueueItem item) {
        return quietly.get(item, () -> {
            SpanContext active = Span.current().getSpanContext();
            if (!active.isValid()) return item;
            Map<String, String> headers = Items.message(item).getHeadersMap();
            Map<String, String> stamped = TraceParent.with(headers, active);
            return stamped == headers ? item : item.withHeaders(stamped);
        });
    }

    @Override
    public TraceSpan attempt(Turn turn, List<DeliveredItem> items) {
        Tracer tracer = tracer();
        if (tracer == null) return TraceSpan.NONE;
        return quietly.get(TraceSpan.NONE, () -> {
            SpanBuilder builder = tracer.spanBuilder("process " + turn.getQueue())
                    .setSpanKind(SpanKind.CONSUMER)
                    .setAttribute("messaging.system", "keyturn")
                    .setAttribute("messaging.operation.type", "process")
                    .setAttribute("messaging.operation.name", "process")
                    .setAttribute("messaging.destination.name", turn.getQueue())
                    .setAttribute("keyturn.attempt", turn.getAttempt())
                    .setAttribute("keyturn.token", turn.getToken());
            if (items.size() == 1) builder.setAttribute(MESSAGE_ID, items.get(0).itemId());
            else builder.setAttribute("messaging.batch.message_count", items.size());
            link(builder, items);
            return started(builder, turn.getKey());
        });
    }

    /** Not below whatever the thread of the handler has: an attempt begins a trace, or stands below the span that submitted. */
    private void link(SpanBuilder builder, List<DeliveredItem> items) {
        builder.setNoParent();
        boolean hasParent = false;
        for (DeliveredItem item : items) {
            SpanContext context = TraceParent.read(item.headers());
            if (context == null) continue;
            if (settings.parent() && !hasParent) {
                hasParent = true;
                builder.setParent(Context.root().with(Span.wrap(context)));
            } else {
                builder.addLink(context, Attributes.of(MESSAGE_ID, item.itemId()));
            }
        }
    }

    @Override
    public TraceSpan turn(String queue, String key) {
        Tracer tracer = tracer();
        if (tracer == null) return TraceSpan.NONE;
        return quietly.get(TraceSpan.NONE, () ->
                started(tracer.spanBuilder("turn " + queue).setAttribute("keyturn.queue", queue), key));
    }

    private TraceSpan started(SpanBuilder builder, String key) {
        if (settings.key()) builder.setAttribute("keyturn.key", key);
        Span span = builder.startSpan();
        return span.getSpanContext().isValid() ? new OpenTelemetrySpan(span, quietly) : TraceSpan.NONE;
    }

    /** Looked for until there is an SDK, which may come after the client. Without one that is all that happens: null. */
    private Tracer tracer() {
        if (found == null) found = quietly.get(null, this::find);
        return found;
    }

    private Tracer find() {
        Object given = settings.openTelemetry();
        // To ask for that of the process would make it one that does nothing, for good.
        if (given == null && !GlobalOpenTelemetry.isSet()) return null;
        OpenTelemetry from = given == null ? GlobalOpenTelemetry.get() : (OpenTelemetry) given;
        if (from == OpenTelemetry.noop()) return null;
        return from.tracerBuilder("io.keyturn.client").setInstrumentationVersion(Version.VERSION).build();
    }
}
