/** Calls that may be sent again (a ticket, an item id or a token goes with each) outlive a sidecar that restarts. */

import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { TlsError } from '../words/errors.js';
import { type Failure, failureOf, retryAfterOf } from '../words/failure.js';
import { BackOff } from './back-off.js';

export interface Patience {
  /** By the clock: no try begins or goes on after this. Infinity: for ever. */
  readonly until: number;
  readonly signal?: AbortSignal | undefined;
  /** Failures that are worth another try. */
  readonly bears: readonly Failure[];
}

/**
 * @param ask gets the ms that are left
 * @throws what the last try failed with
 */
export async function patiently<T>(base: Base, patience: Patience, ask: (left: number) => Promise<T>): Promise<T> {
  const { clock } = base.transport;
  const { until, bears } = patience;
  const backOff = new BackOff(base.random);
  for (;;) {
    try {
      return await ask(Math.max(1, until - clock.now()));
    } catch (error) {
      // Not before: the caller may make its signal only when it is read.
      const { signal } = patience;
      const isHopeless = error instanceof TlsError || !bears.includes(failureOf(error));
      if (signal?.aborted || isHopeless) throw error;
      const ms = backOff.next(retryAfterOf(error));
      if (clock.now() + ms >= until) throw error;
      await pause(clock, ms, signal);
      if (signal?.aborted) throw error;
    }
  }
}
