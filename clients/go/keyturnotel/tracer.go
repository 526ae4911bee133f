// Package keyturnotel traces a client of Keyturn with OpenTelemetry:
//
//	client, err := keyturn.Dial(address, keyturn.WithTracer(keyturnotel.New(keyturnotel.Options{})))
//
// Items carry the context of who submitted them, each attempt at an item is a span with a link to it, each turn is a span
// below the caller's. The names are those of the clients of all languages: docs/TRACING.md. It is a module of its own, so that
// who does not trace has no dependency on OpenTelemetry.
package keyturnotel

import (
	"context"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const scope = "github.com/keyturn/keyturn/clients/go/keyturnotel"

// Options of a tracer. The zero value is fine.
type Options struct {
	// Provider makes the spans. Nil: the one that is registered for the process, also one that is registered later.
	Provider trace.TracerProvider
	// Parent: an attempt is a child of the span that submitted its item, in its trace. Else it begins a trace, and links to it.
	Parent bool
	// Key: the key is an attribute of spans, keyturn.key. Keys may name people.
	Key bool
}

// New makes a tracer for [keyturn.WithTracer].
func New(options Options) keyturn.Tracer {
	t := &tracer{options: options}
	provider := options.Provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	if _, isNone := provider.(noop.TracerProvider); !isNone {
		t.spans = provider.Tracer(scope, trace.WithInstrumentationVersion(keyturn.Version))
	}
	return t
}

type tracer struct {
	options Options
	// Nil: there is none to ask.
	spans trace.Tracer
}

// Headers of an item that is submitted under ctx.
func (t *tracer) Headers(ctx context.Context, headers map[string]string) map[string]string {
	if active := trace.SpanContextFromContext(ctx); active.IsValid() {
		return withTraceParent(headers, active)
	}
	return headers
}

// Attempt is a span of a consumer, by the conventions for messaging.
func (t *tracer) Attempt(ctx context.Context, work *keyturn.Work) (context.Context, keyturn.TraceSpan) {
	if t.spans == nil {
		return ctx, nil
	}
	links := linksOf(work.Items)
	isChild := t.options.Parent && len(links) > 0
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(t.ofAttempt(work)...)}
	around := ctx
	if isChild {
		around = trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
		links = links[1:]
	} else {
		// Not of whoever called Consume: that span has ended long ago.
		options = append(options, trace.WithNewRoot())
	}
	return t.started(ctx, around, "process "+work.Queue, append(options, trace.WithLinks(links...)))
}

// Turn is a span below the caller's.
func (t *tracer) Turn(ctx context.Context, queue, key string) (context.Context, keyturn.TraceSpan) {
	if t.spans == nil {
		return ctx, nil
	}
	attributes := append([]attribute.KeyValue{attribute.String("keyturn.queue", queue)}, t.ofKey(key)...)
	return t.started(ctx, ctx, "turn "+queue, []trace.SpanStartOption{trace.WithAttributes(attributes...)})
}

func (t *tracer) started(ctx, around context.Context, name string, options []trace.SpanStartOption) (context.Context, keyturn.TraceSpan) {
	inside, made := t.spans.Start(around, name, options...)
	if !made.SpanContext().IsValid() {
		// There is no SDK.
		return ctx, nil
	}
	return inside, &span{to: made}
}

func (t *tracer) ofAttempt(work *keyturn.Work) []attribute.KeyValue {
	made := append(make([]attribute.KeyValue, 0, 8),
		attribute.String("messaging.system", "keyturn"),
		attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.destination.name", work.Queue),
		attribute.Int("keyturn.attempt", work.Attempt),
		attribute.Int64("keyturn.token", int64(work.Token)),
	)
	if len(work.Items) == 1 {
		made = append(made, attribute.String("messaging.message.id", work.Items[0].ItemID))
	} else {
		made = append(made, attribute.Int("messaging.batch.message_count", len(work.Items)))
	}
	return append(made, t.ofKey(work.Key)...)
}

func (t *tracer) ofKey(key string) []attribute.KeyValue {
	if !t.options.Key {
		return nil
	}
	return []attribute.KeyValue{attribute.String("keyturn.key", key)}
}

func linksOf(items []keyturn.Item) []trace.Link {
	var links []trace.Link
	for _, item := range items {
		if context, ok := readTraceParent(item.Headers); ok {
			id := attribute.String("messaging.message.id", item.ItemID)
			links = append(links, trace.Link{SpanContext: context, Attributes: []attribute.KeyValue{id}})
		}
	}
	return links
}
