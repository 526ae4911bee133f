/**
 * Spans by the conventions for messaging. An attempt links to the span that submitted its item: its trace may be hours old,
 * and a batch has many of them.
 */
import { messageOf } from '../words/failure.js';
import { wrongSetting } from '../words/option-checks.js';
import type {
  ApiAttributes,
  ApiContext,
  ApiLink,
  ApiSpan,
  ApiSpanContext,
  ApiTracer,
  OpenTelemetryApi,
  TraceOutcome,
  TraceSpan,
  Tracing,
  TracingOptions,
} from '../words/tracing.js';
import { VERSION } from '../words/version.js';
import type { DeliveredItem, Delivery, ItemCall, Turn } from '../words/worker-words.js';
import { findApi } from './find-api.js';
import { isValid, readTraceParent, withTraceParent } from './trace-parent.js';

/** Numbers of the API: SpanKind and SpanStatusCode. */
const INTERNAL = 0;
const CONSUMER = 4;
const ERROR = 2;

/** @throws KeyturnError (INVALID_ARGUMENT) when tracing was asked for and cannot be had */
export function tracingOf(tracing: boolean | TracingOptions | undefined): Tracing | undefined {
  const api = apiFor(tracing);
  return api && new OpenTelemetry(api, typeof tracing === 'object' ? tracing : {});
}

function apiFor(tracing: boolean | TracingOptions | undefined): OpenTelemetryApi | undefined {
  if (tracing === false) return undefined;
  const given = typeof tracing === 'object' ? tracing.api : undefined;
  const api = given ?? findApi();
  if (api === undefined && tracing !== undefined)
    throw wrongSetting(
      'tracing: @opentelemetry/api is not installed beside the client; install it, or give it as tracing.api',
    );
  return api;
}

class OpenTelemetry implements Tracing {
  readonly #api: OpenTelemetryApi;
  readonly #options: TracingOptions;
  #found: ApiTracer | undefined;

  constructor(api: OpenTelemetryApi, options: TracingOptions) {
    this.#api = api;
    this.#options = options;
  }

  stamped<I extends ItemCall>(item: I): I {
    const { trace, context } = this.#api;
    const active = trace.getSpanContext(context.active());
    return active !== undefined && isValid(active) ? withTraceParent(item, active) : item;
  }

  attempt({ turn, items }: Delivery): TraceSpan | undefined {
    const tracer = this.#tracer();
    if (tracer === undefined) return undefined;
    const links = this.#linksOf(items);
    const [first] = links;
    const isChild = this.#options.parent === true && first !== undefined;
    const { context, trace } = this.#api;
    const around = context.active();
    const options = {
      kind: CONSUMER,
      attributes: { ...CONVENTIONS, ...this.#of(turn.queue, turn.key), ...ofItems(items), ...ofTurn(turn) },
      links: isChild ? links.slice(1) : links,
      // Not of whoever called consume: that span has ended long ago.
      root: !isChild,
    };
    const parent = isChild ? trace.setSpanContext(around, first.context) : around;
    return new Traced(this.#api, tracer.startSpan(`process ${turn.queue}`, options, parent), around);
  }

  turn(queue: string, key: string): TraceSpan | undefined {
    const tracer = this.#tracer();
    if (tracer === undefined) return undefined;
    const around = this.#api.context.active();
    const attributes = { 'keyturn.queue': queue, ...this.#keyOf(key) };
    return new Traced(this.#api, tracer.startSpan(`turn ${queue}`, { kind: INTERNAL, attributes }, around), around);
  }

  /** Looked for until there is an SDK, which may come after the client. Without one that is all that happens. */
  #tracer(): ApiTracer | undefined {
    if (this.#found !== undefined) return this.#found;
    const provider = this.#api.trace.getTracerProvider();
    this.#found =
      provider.getDelegateTracer === undefined
        ? provider.getTracer('@keyturn/client', VERSION)
        : provider.getDelegateTracer('@keyturn/client', VERSION);
    return this.#found;
  }

  #of(queue: string, key: string): ApiAttributes {
    return { 'messaging.destination.name': queue, ...this.#keyOf(key) };
  }

  #keyOf(key: string): ApiAttributes {
    return this.#options.key === true ? { 'keyturn.key': key } : {};
  }

  #linksOf(items: readonly DeliveredItem[]): ApiLink[] {
    return items.flatMap(({ itemId, headers }) => {
      const context: ApiSpanContext | undefined = readTraceParent(headers, (raw) => this.#api.createTraceState(raw));
      return context === undefined ? [] : [{ context, attributes: { 'messaging.message.id': itemId } }];
    });
  }
}

const CONVENTIONS = {
  'messaging.system': 'keyturn',
  'messaging.operation.type': 'process',
  'messaging.operation.name': 'process',
};

function ofItems(items: readonly DeliveredItem[]): ApiAttributes {
  const [first] = items;
  if (items.length === 1 && first !== undefined) return { 'messaging.message.id': first.itemId };
  return { 'messaging.batch.message_count': items.length };
}

function ofTurn({ attempt, token }: Turn): ApiAttributes {
  return { 'keyturn.attempt': attempt, 'keyturn.token': token };
}

class Traced implements TraceSpan {
  readonly #api: OpenTelemetryApi;
  readonly #span: ApiSpan;
  readonly #context: ApiContext;
  #recorded: unknown;

  constructor(api: OpenTelemetryApi, span: ApiSpan, around: ApiContext) {
    this.#api = api;
    this.#span = span;
    this.#context = api.trace.setSpan(around, span);
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work);
  }

  waiting(): void {
    this.#span.addEvent('waiting');
  }

  granted({ token }: Turn): void {
    this.#span.addEvent('granted', { 'keyturn.token': token });
    this.#span.setAttribute('keyturn.token', token);
  }

  lost(cause: string): void {
    this.#span.addEvent('lost', { 'keyturn.loss': cause });
  }

  failed(error: unknown): void {
    if (this.#recorded === error) return;
    this.#recorded = error;
    this.#span.recordException(error instanceof Error ? error : messageOf(error));
    this.#span.setStatus({ code: ERROR, message: messageOf(error) });
    this.#span.setAttribute('error.type', error instanceof Error ? error.name : '_OTHER');
  }

  outcome(outcome: TraceOutcome): void {
    this.#span.setAttribute('keyturn.outcome', outcome);
  }

  end(): void {
    this.#span.end();
  }
}
