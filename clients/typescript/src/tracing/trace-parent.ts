/**
 * The headers of W3C Trace Context. Always this form, whatever propagators an application has for its own calls: the sidecar
 * and workers in other languages read it.
 */
import { Buffer } from 'node:buffer';
import { isHeaders } from '../words/item-check.js';
import { headerPairs } from '../words/item-size.js';
import type { ApiSpanContext, ApiTraceState } from '../words/tracing.js';
import type { ItemCall } from '../words/worker-words.js';

const PARENT = 'traceparent';
const STATE = 'tracestate';
/** What the contract lets an item have; an item is never refused for what tracing adds. */
const MOST_HEADERS = 64;
const MOST_BYTES = 8_192;
/** What a reader has to pass on, at least. */
const LONGEST_STATE = 512;

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;

/** @returns the item itself when it cannot or need not have them */
export function withTraceParent<I extends ItemCall>(item: I, context: ApiSpanContext): I {
  const { headers } = item;
  // What is wrong is refused by name where items are checked.
  if (!isHeaders(headers)) return item;
  const own = headers === undefined ? [] : [...headerPairs(headers)];
  if (own.some(([name]) => name.toLowerCase() === PARENT)) return item;
  const stamped = new Map(own);
  let bytes = 0;
  for (const [name, value] of own) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  const add = (name: string, value: string): boolean => {
    bytes += name.length + value.length;
    if (stamped.size >= MOST_HEADERS || bytes > MOST_BYTES) return false;
    stamped.set(name, value);
    return true;
  };
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0');
  if (!add(PARENT, `00-${context.traceId}-${context.spanId}-${flags}`)) return item;
  const state = context.traceState?.serialize();
  // One without its parent is of another trace.
  stamped.delete(STATE);
  if (state !== undefined && state !== '' && state.length <= LONGEST_STATE) add(STATE, state);
  return { ...item, headers: stamped };
}

/** @returns undefined when there is none, or none that is one */
export function readTraceParent(
  headers: ReadonlyMap<string, string> | undefined,
  stateOf: (raw: string) => ApiTraceState,
): ApiSpanContext | undefined {
  const found = FORM.exec(headers?.get(PARENT) ?? '');
  if (headers === undefined || found === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = found;
  // Later versions may add; of the first there is no more than this, and ff is none.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  if (!isValid(context)) return undefined;
  const state = headers.get(STATE);
  return state === undefined ? context : { ...context, traceState: stateOf(state) };
}

export function isValid({ traceId, spanId }: ApiSpanContext): boolean {
  return /^[\da-f]{32}$/.test(traceId) && !ZEROS.test(traceId) && /^[\da-f]{16}$/.test(spanId) && !ZEROS.test(spanId);
}
