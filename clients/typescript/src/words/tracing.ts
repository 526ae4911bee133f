/** Tracing: what an application says of it, and what the calls of the client tell whoever traces. */
import type { Delivery, ItemCall, Turn } from './worker-words.js';

/**
 * What is used of `@opentelemetry/api`, version 1. Said here once more, so that the types of the client compile where it is
 * not installed; the module itself fits.
 */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracerProvider(): ApiTracerProvider;
    getSpanContext(context: ApiContext): ApiSpanContext | undefined;
    setSpan(context: ApiContext, span: ApiSpan): ApiContext;
    setSpanContext(context: ApiContext, spanContext: ApiSpanContext): ApiContext;
  };
  readonly context: {
    active(): ApiContext;
    with<T>(context: ApiContext, work: () => T): T;
  };
  createTraceState(raw: string): ApiTraceState;
}

export interface ApiContext {
  getValue(key: symbol): unknown;
}

export interface ApiTraceState {
  set(key: string, value: string): ApiTraceState;
  unset(key: string): ApiTraceState;
  get(key: string): string | undefined;
  serialize(): string;
}

export interface ApiSpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
  traceState?: ApiTraceState;
}

export type ApiAttributes = Record<string, string | number>;

export interface ApiLink {
  context: ApiSpanContext;
  attributes?: ApiAttributes;
}

interface ApiSpanOptions {
  kind?: number;
  attributes?: ApiAttributes;
  links?: ApiLink[];
  root?: boolean;
}

export interface ApiTracer {
  startSpan(name: string, options?: ApiSpanOptions, context?: ApiContext): ApiSpan;
}

interface ApiTracerProvider {
  getTracer(name: string, version?: string): ApiTracer;
  /** Of the provider that stands there before there is an SDK: undefined until then. */
  getDelegateTracer?(name: string, version?: string): ApiTracer | undefined;
}

export interface ApiSpan {
  addEvent(name: string, attributes?: ApiAttributes): unknown;
  setAttribute(name: string, value: string | number): unknown;
  recordException(error: Error | string): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

export interface TracingOptions {
  /**
   * An attempt is a child of the span that submitted its item, in one trace with it. Unset: an attempt begins a trace, and
   * links to that span.
   */
  readonly parent?: boolean | undefined;
  /** The key is an attribute of spans, `keyturn.key`. Unset: it is not; keys may name people. */
  readonly key?: boolean | undefined;
  /** `@opentelemetry/api`, imported by the application: for bundles, in which it cannot be looked for. Unset: it is looked for. */
  readonly api?: OpenTelemetryApi | undefined;
}

/** Unset: nobody traces. None of it throws. */
export interface Tracing {
  /** The item with the context that is active in its headers; the item itself when none is, or its caller gave one. */
  stamped<I extends ItemCall>(item: I): I;
  /** Begins the span of an attempt; undefined: nobody listens. */
  attempt(delivery: Delivery): TraceSpan | undefined;
  /** Begins the span of a scope of a turn; undefined: nobody listens. */
  turn(queue: string, key: string): TraceSpan | undefined;
}

/** Words of `keyturn.outcome`. */
export type TraceOutcome =
  | 'ack'
  | 'retry'
  | 'release'
  | 'dead_letter'
  | 'lost'
  | 'unsettled'
  | 'done'
  | 'declined'
  | 'blocked'
  | 'failed';

export interface TraceSpan {
  /** Runs `work` with the span as the one that is active. */
  run<T>(work: () => T): T;
  waiting(): void;
  granted(turn: Turn): void;
  /** @param cause why the turn was lost */
  lost(cause: string): void;
  /** The same error twice is recorded once. */
  failed(error: unknown): void;
  /** The last one counts. */
  outcome(outcome: TraceOutcome): void;
  end(): void;
}
