package io.keyturn.client.internal.tracing;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.v1.Turn;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import java.util.Locale;

/** One span. */
final class OpenTelemetrySpan implements TraceSpan {
    private static final AttributeKey<Long> TOKEN = AttributeKey.longKey("keyturn.token");
    private static final AttributeKey<String> LOSS = AttributeKey.stringKey("keyturn.loss");

    private final Span span;
    private final Quietly quietly;
    private Throwable recorded;

    OpenTelemetrySpan(Span span, Quietly quietly) {
        this.span = span;
        this.quietly = quietly;
    }

    @Override
    public Active activate() {
        Scope scope = quietly.get(Scope.noop(), span::makeCurrent);
        return () -> quietly.run(scope::close);
    }

    @Override
    public void waiting() {
        quietly.run(() -> span.addEvent("waiting"));
    }

    @Override
    public void granted(Turn turn) {
        quietly.run(() -> span.addEvent("granted", Attributes.of(TOKEN, turn.getToken())));
        quietly.run(() -> span.setAttribute(TOKEN, turn.getToken()));
    }

    @Override
    public void lost(TurnLoss loss) {
        quietly.run(() -> span.addEvent("lost", Attributes.of(LOSS, loss.name().toLowerCase(Locale.ROOT))));
    }

    @Override
    public synchronized void failed(Throwable error) {
        if (recorded == error) return;
        recorded = error;
        quietly.run(() -> span.recordException(error));
        quietly.run(() -> span.setStatus(StatusCode.ERROR, Failures.messageOf(error)));
        quietly.run(() -> span.setAttribute("error.type", error.getClass().getName()));
    }

    @Override
    public void outcome(String word) {
        quietly.run(() -> span.setAttribute("keyturn.outcome", word));
    }

    @Override
    public void end() {
        quietly.run(span::end);
    }
}
