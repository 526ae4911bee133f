/** Runs a handler under a turn, so that it is told in time when it must stop. */
import type { HeldTurn } from './calls.js';
import type { Clock } from './clock.js';
import { TurnLostError } from './errors.js';
import { messageOf } from './failure.js';
import { LinkedAbort } from './linked-abort.js';

/** What came of a handler. `lost` goes before everything else: what it returned does not count. */
export type Ending<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'lost'; readonly error: TurnLostError };

export interface HandlerLimits {
  /** Others who may stop the handler. */
  readonly signals: readonly (AbortSignal | undefined)[];
  /** ms after which it is told to stop. Unset: never. */
  readonly maxHold: number | undefined;
}

/** Resolves when the handler has ended, however that was; never rejects. */
export async function runUnder<T>(
  clock: Clock,
  held: HeldTurn,
  limits: HandlerLimits,
  handler: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<Ending<T>> {
  const stop = new LinkedAbort([held.signal, ...limits.signals]);
  const callOff =
    limits.maxHold === undefined ? undefined : clock.after(limits.maxHold, () => stop.abort(tooLong(limits)));
  try {
    // Lost before it began (a long wait, a slow process): nothing is started just to be stopped.
    if (held.signal.aborted) return { kind: 'lost', error: lossOf(held.signal) };
    const value = await handler(stop.signal);
    return held.signal.aborted ? { kind: 'lost', error: lossOf(held.signal) } : { kind: 'done', value };
  } catch (error) {
    return held.signal.aborted ? { kind: 'lost', error: lossOf(held.signal, error) } : { kind: 'failed', error };
  } finally {
    callOff?.();
    stop.letGo();
  }
}

/** @param error what the handler threw; it is told too, unless it only handed the loss on */
function lossOf(signal: AbortSignal, error?: unknown): TurnLostError {
  const reason: unknown = signal.reason;
  const loss = reason instanceof TurnLostError ? reason : new TurnLostError(messageOf(reason), 'unknown');
  const isHandedOn = error === reason || (error instanceof Error && error.name === 'AbortError');
  if (error === undefined || isHandedOn) return loss;
  return new TurnLostError(`${loss.message}; the handler ended with: ${messageOf(error)}`, loss.cause, loss.details);
}

function tooLong({ maxHold }: HandlerLimits): DOMException {
  return new DOMException(`the handler has held its turn for maxHold, ${maxHold} ms`, 'TimeoutError');
}
