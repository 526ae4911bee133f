/** Runs a handler under a turn, whose signal says in time when it must stop. */

import type { Clock } from '../time/clock.js';
import type { HeldTurn } from '../words/calls.js';
import { TurnLostError } from '../words/errors.js';
import { messageOf } from '../words/failure.js';
import type { StopSignal } from './stop-signal.js';

/** What came of a handler. `lost` goes before everything else: what it returned does not count. */
export type Ending<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'lost'; readonly error: TurnLostError };

/**
 * Resolves when the handler has ended, however that was; never rejects.
 *
 * @param maxHold ms after which the handler is told to stop; undefined: never
 */
export async function runUnder<T>(
  clock: Clock,
  held: HeldTurn,
  stop: StopSignal,
  maxHold: number | undefined,
  handler: () => T | PromiseLike<T>,
): Promise<Ending<T>> {
  const callOff = maxHold === undefined ? undefined : clock.after(maxHold, () => stop.abort(tooLong(maxHold)));
  try {
    // Lost before it began (a long wait, a slow process): nothing is started just to be stopped.
    if (held.lost) return { kind: 'lost', error: lossOf(held) };
    const value = await handler();
    return held.lost ? { kind: 'lost', error: lossOf(held) } : { kind: 'done', value };
  } catch (error) {
    return held.lost ? { kind: 'lost', error: lossOf(held, error) } : { kind: 'failed', error };
  } finally {
    callOff?.();
    stop.end();
  }
}

/** @param error what the handler threw; its message is added, unless it only handed the loss on */
function lossOf({ signal }: HeldTurn, error?: unknown): TurnLostError {
  const reason: unknown = signal.reason;
  const loss = reason instanceof TurnLostError ? reason : new TurnLostError(messageOf(reason), 'unknown');
  const isHandedOn = error === reason || (error instanceof Error && error.name === 'AbortError');
  if (error === undefined || isHandedOn) return loss;
  return new TurnLostError(`${loss.message}; the handler ended with: ${messageOf(error)}`, loss.loss, loss.details, {
    cause: error,
  });
}

function tooLong(maxHold: number): DOMException {
  return new DOMException(`the handler has held its turn for maxHold, ${maxHold} ms`, 'TimeoutError');
}
