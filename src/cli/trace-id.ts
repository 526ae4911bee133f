/** The trace of whoever submitted an item: by the header of W3C Trace Context, which the clients write. */
const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/** @returns undefined when the item has none, or none that is one: headers are anybody's words */
export function traceIdOf(headers: ReadonlyMap<string, string> | undefined): string | undefined {
  return FORM.exec(headers?.get('traceparent') ?? '')?.[1];
}
