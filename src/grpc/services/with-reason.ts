/** Why somebody changes something: the audit tells it as it tells what was asked, and nothing else reads it. */
import type { Read } from '../call/handler.js';

/** The audit cuts longer texts. */
const REASON_BYTES = 256;

/** Of a call that changes something. */
export function withReason<Q, R>(read: Read<Q, R>): Read<Q & { readonly reason: string }, R> {
  return (message, check, caller) => {
    check.text('reason', message.reason, REASON_BYTES);
    return read(message, check, caller);
  };
}
