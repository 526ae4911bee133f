/** What a node of a Redis Cluster says instead of an answer: that the key is elsewhere, or under way. Nothing was done then. */
import { JournalError } from '../../../local/journal/journal.js';
import type { EngineHost } from '../../address/engine-address.js';

export type Redirect =
  /** The slot is another node's. */
  | { readonly kind: 'moved' }
  /** This key is at another node already, for this one request. */
  | { readonly kind: 'ask'; readonly at: EngineHost }
  /** Some keys of the request are here, and some there. */
  | { readonly kind: 'again' };

const ASK = /^ASK \d+ (.*):(\d+)$/;

/** @param error of a request; unset: it is something else */
export function redirectIn(error: unknown): Redirect | undefined {
  if (!(error instanceof JournalError) || !(error.cause instanceof Error)) return undefined;
  const text = error.cause.message;
  if (text.startsWith('MOVED ')) return { kind: 'moved' };
  if (text.startsWith('TRYAGAIN')) return { kind: 'again' };
  const [, host, port] = ASK.exec(text) ?? [];
  return host === undefined ? undefined : { kind: 'ask', at: { host, port: Number(port) } };
}
