/** The trace of whoever submitted an item: by the header of W3C Trace Context, which the clients write. */
const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/** @returns undefined when it is none: headers are anybody's words */
export function traceIdIn(traceparent: string | undefined): string | undefined {
  return FORM.exec(traceparent ?? '')?.[1];
}
