/** The API of OpenTelemetry as a dumb model: contexts are nested, spans remember what they are told. */
import type { OpenTelemetryApi } from '@keyturn/client';

type Api = OpenTelemetryApi;
type Context = ReturnType<Api['context']['active']>;
type State = ReturnType<Api['createTraceState']>;
type SpanContext = NonNullable<ReturnType<Api['trace']['getSpanContext']>>;
type Span = Parameters<Api['trace']['setSpan']>[1];
type Options = NonNullable<
  Parameters<ReturnType<ReturnType<Api['trace']['getTracerProvider']>['getTracer']>['startSpan']>[1]
>;

export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const SPAN = 'b7ad6b7169203331';
export const PARENT = `00-${TRACE}-${SPAN}-01`;

export class FakeSpan implements Span {
  readonly events: (readonly [string, unknown])[] = [];
  readonly errors: string[] = [];
  readonly attributes: Record<string, string | number>;
  status: { readonly code: number; readonly message?: string } | undefined;
  ends = 0;

  constructor(
    readonly name: string,
    readonly options: Options,
    /** Of its context: the span of which it is a child. */
    readonly parent: SpanContext | undefined,
    readonly own: SpanContext,
  ) {
    this.attributes = { ...options.attributes };
  }

  addEvent(name: string, attributes?: Record<string, string | number>): void {
    this.events.push([name, attributes]);
  }

  setAttribute(name: string, value: string | number): void {
    this.attributes[name] = value;
  }

  recordException(error: Error | string): void {
    this.errors.push(typeof error === 'string' ? error : error.message);
  }

  setStatus(status: { readonly code: number; readonly message?: string }): void {
    this.status = status;
  }

  end(): void {
    this.ends += 1;
  }
}

export function traceState(raw: string): State {
  const same: State = { set: () => same, unset: () => same, get: () => undefined, serialize: () => raw };
  return same;
}

class FakeContext implements Context {
  constructor(readonly span: SpanContext | undefined) {}

  getValue(): undefined {
    return undefined;
  }
}

const ROOT = new FakeContext(undefined);

export class FakeTracing implements Api {
  readonly spans: FakeSpan[] = [];
  /** Looked at, without an SDK. */
  asked = 0;
  hasSdk = true;
  #active: Context = ROOT;

  /** Runs `work` as if a span of the application were active. */
  under<T>(span: Partial<SpanContext>, work: () => T): T {
    return this.context.with(new FakeContext({ traceId: TRACE, spanId: SPAN, traceFlags: 1, ...span }), work);
  }

  readonly context: Api['context'] = {
    active: () => this.#active,
    // Only what runs at once: enough for what is looked at.
    with: (context, work) => {
      const before = this.#active;
      this.#active = context;
      try {
        return work();
      } finally {
        this.#active = before;
      }
    },
  };

  readonly trace: Api['trace'] = {
    getTracerProvider: () => ({ getTracer: () => this.#tracer, getDelegateTracer: () => this.#delegate() }),
    getSpanContext: (context) => (context instanceof FakeContext ? context.span : undefined),
    setSpan: (_, span) => new FakeContext(span instanceof FakeSpan ? span.own : undefined),
    setSpanContext: (_, spanContext) => new FakeContext(spanContext),
  };

  readonly createTraceState = traceState;

  #delegate() {
    this.asked += 1;
    return this.hasSdk ? this.#tracer : undefined;
  }

  readonly #tracer = {
    startSpan: (name: string, options: Options = {}, context: Context = this.#active): FakeSpan => {
      const parent = options.root === true ? undefined : this.trace.getSpanContext(context);
      const spanId = (this.spans.length + 1).toString(16).padStart(16, '0');
      const span = new FakeSpan(name, options, parent, { traceId: parent?.traceId ?? TRACE, spanId, traceFlags: 1 });
      this.spans.push(span);
      return span;
    },
  };
}
