/** How a session stands to its streams: it has one at a time, or none. */
import type { KeyturnError } from '../words/errors.js';
import type { SessionStream } from './network.js';

export type Link =
  /** No stream, and none is needed. */
  | { readonly at: 'idle' }
  | { readonly at: 'pausing'; readonly until: number }
  | Attached
  /** Closed, or replaced: for good. */
  | { readonly at: 'stopped'; readonly error: KeyturnError; readonly loss: 'closed' | 'replaced' };

export interface Attached {
  /** `greeting`: hello is not answered yet. */
  at: 'greeting' | 'ready';
  readonly stream: SessionStream;
  readonly since: number;
  /** Calls are sent behind the hello, without waiting for its answer: there is nothing that it could settle. */
  readonly piped: boolean;
  /** Until when turns were safe before. */
  readonly stopAt: number;
  /** A proof of life was asked for on it, and is not answered yet. */
  proving: boolean;
}

export function isAttached(link: Link): link is Attached {
  return link.at === 'greeting' || link.at === 'ready';
}
