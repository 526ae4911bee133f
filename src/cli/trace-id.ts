import { traceIdIn } from '../grpc/convert/trace-id.js';

/** @returns undefined when the item has none, or none that is one */
export function traceIdOf(headers: ReadonlyMap<string, string> | undefined): string | undefined {
  return traceIdIn(headers?.get('traceparent'));
}
