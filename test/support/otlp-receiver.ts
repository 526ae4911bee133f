/** Takes spans as a tracing backend does: OTLP over HTTP, in JSON. */
import { ok } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Cleanup } from './node-process.js';

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: number;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, string>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly events: readonly string[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly status?: ReceivedSpan['status'];
  readonly attributes?: readonly OtlpAttribute[];
  readonly links?: ReceivedSpan['links'];
  readonly events?: readonly { readonly name: string }[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** What came so far. */
  readonly spans: readonly ReceivedSpan[];
}

export async function startOtlpReceiver(cleanup: Cleanup): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      // The exporter's own form; what it lacks fails where it is looked at.
      const { resourceSpans } = body as OtlpRequest;
      const sent = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
      spans.push(...sent.map(received));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.after(() => void server.close());
  const address = server.address();
  ok(typeof address === 'object' && address !== null);
  return { endpoint: `http://127.0.0.1:${address.port}`, spans };
}

function received({ name, traceId, spanId, parentSpanId, kind, ...rest }: OtlpSpan): ReceivedSpan {
  const attributes = (rest.attributes ?? []).map(({ key, value }) => [key, String(Object.values(value)[0])] as const);
  return {
    name,
    traceId,
    spanId,
    parentSpanId,
    kind,
    status: rest.status ?? {},
    attributes: Object.fromEntries(attributes),
    links: (rest.links ?? []).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    events: (rest.events ?? []).map((event) => event.name),
  };
}
