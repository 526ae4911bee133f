import { patiently } from '../retry/patience.js';
import { type Ending, runUnder } from '../turns/held-work.js';
import { StopSignal } from '../turns/stop-signal.js';
import type { Base } from '../words/base.js';
import { GRACE_MS } from '../words/calls.js';
import { copied } from '../words/copied.js';
import { TurnLostError } from '../words/errors.js';
import { failureOf, messageOf } from '../words/failure.js';
import {
  functionNeeded,
  numberWithin,
  optionalSignal,
  optionalText,
  optionsNeeded,
  textNeeded,
  wordWithin,
  wrongSetting,
} from '../words/option-checks.js';
import type { TraceSpan } from '../words/tracing.js';
import type { Bytes, Reason, Turn } from '../words/worker-words.js';
import { Claim, type ClaimPlan } from './claim.js';

/** What a handler of {@link TurnHandler} gets. */
export interface HeldKey {
  readonly queue: string;
  readonly key: string;
  /** Grows with every turn of the queue: let what you write to refuse a smaller one than it has seen. */
  readonly token: number;
  /** Which try this is; 0 for a turn without items, which is what withTurn gives. */
  readonly attempt: number;
  /**
   * Aborts when the turn is lost, a margin before it can no longer be known to live, after `maxHold`, and with the caller's
   * own signal. Stop then: hand it on to what you call.
   */
  readonly signal: AbortSignal;
}

export type TurnHandler<T> = (turn: HeldKey) => T | PromiseLike<T>;

export interface WithTurnOptions<T = unknown> {
  /**
   * How long to wait for the turn, ms; Infinity: for ever. Zero: take it now or not at all. Unset: the queue's `wait`, with
   * `order: 'strict'` 3 s.
   */
  readonly wait?: number | undefined;
  /** How long the turn lives without being renewed, ms, 100 to 24 h. Unset: kept by the session, else the queue's `lease`. */
  readonly lease?: number | undefined;
  /** How long the handler may take before its signal aborts (TimeoutError), ms. Say here what the queue's `max_hold` is, or less. Unset: no limit. */
  readonly maxHold?: number | undefined;
  /**
   * `coalesce` (the default): one works, one waits, the rest is declined, or as the queue's policy says. `strict`: every call
   * gets its turn in the order of arrival, none is declined; it knows no `idempotencyKey`.
   */
  readonly order?: 'coalesce' | 'strict' | undefined;
  /** Your business id: once done, it is declined (`already_done`) while the queue remembers it. */
  readonly idempotencyKey?: string | undefined;
  /** What is remembered with the idempotency key, up to 1 MiB, made of what the handler returned. */
  readonly result?: ((value: T) => Bytes | undefined) | undefined;
  /** Who asks, for people who look. Unset: the client's. */
  readonly consumerId?: string | undefined;
  /** Aborting leaves the line, or tells the handler to stop. */
  readonly signal?: AbortSignal | undefined;
}

export type TurnOutcome<T> =
  /** The handler ran, and its turn lived until it was given back. */
  | { readonly status: 'done'; readonly value: T; readonly token: number }
  /** The message is not needed: drop it. */
  | {
      readonly status: 'declined';
      readonly reason: Reason;
      /** Waiter exists, superseded: who stands in. */
      readonly survivorId: string | undefined;
      /** Too soon: when it is worth asking again, ms. */
      readonly retryAfter: number | undefined;
      /** Already done: the remembered result. */
      readonly result: Bytes | undefined;
    }
  /** The wait ended first. No place is kept. */
  | {
      readonly status: 'blocked';
      /** How many stood before us, the holder included; 0 behind a gate. Unset with `order: 'strict'`. */
      readonly ahead: number | undefined;
      /** Behind a gate: when it is worth asking again, ms. */
      readonly retryAfter: number | undefined;
    };

/** The built-in `wait` of a queue, for the call that knows no such default, ms. */
const STRICT_WAIT = 3_000;
const LONGEST_LEASE = 86_400_000;
const OPTIONS: Readonly<Record<keyof WithTurnOptions, true>> = {
  wait: true,
  lease: true,
  maxHold: true,
  order: true,
  idempotencyKey: true,
  result: true,
  consumerId: true,
  signal: true,
};
/**
 * Asks for the turn of a key, runs the handler while it is kept alive, and gives it back.
 *
 * @throws TurnLostError when the turn was lost, after the handler has ended; what the handler throws, after the turn was
 * given back as abandoned; the reason of `signal` when it aborts before the turn came; KeyturnError when the sidecar
 * refuses or cannot be reached. An error of the connection after the handler ended leaves open whether its end was noted.
 */
export async function withTurn<T>(
  base: Base,
  queue: string,
  key: string,
  options: WithTurnOptions<T>,
  handler: TurnHandler<T>,
): Promise<TurnOutcome<T>> {
  textNeeded('the queue', queue);
  textNeeded('the key', key);
  check(options, handler);
  const { order = 'coalesce', lease, consumerId, idempotencyKey, signal } = options;
  const wait = options.wait ?? (order === 'strict' ? STRICT_WAIT : undefined);
  const plan = { queue, key, order, wait, lease, consumerId, idempotencyKey, signal };
  const span = base.tracing?.turn(queue, key);
  const run = () => claimed(base, plan, options, handler, span);
  return span === undefined ? run() : traced(span, run);
}

async function claimed<T>(
  base: Base,
  plan: ClaimPlan,
  options: WithTurnOptions<T>,
  handler: TurnHandler<T>,
  span: TraceSpan | undefined,
): Promise<TurnOutcome<T>> {
  const claim = await new Claim(base, plan).wait();
  if (claim.status !== 'turn') return claim;
  return underTurn(base, claim.turn, claim.askedAt, options, handler, span);
}

async function traced<T>(span: TraceSpan, run: () => Promise<TurnOutcome<T>>): Promise<TurnOutcome<T>> {
  span.waiting();
  try {
    const outcome = await run();
    span.outcome(outcome.status);
    return outcome;
  } catch (error) {
    if (error instanceof TurnLostError) span.lost(error.loss);
    span.failed(error);
    span.outcome(error instanceof TurnLostError ? 'lost' : 'failed');
    throw error;
  } finally {
    span.end();
  }
}

function check<T>(options: WithTurnOptions<T>, handler: TurnHandler<T>): void {
  functionNeeded('the handler', handler);
  optionsNeeded('the options of withTurn', options, OPTIONS);
  const { wait, lease, maxHold, order, idempotencyKey, result, consumerId, signal } = options;
  if (wait !== undefined) numberWithin('wait', wait, 0, Infinity);
  if (lease !== undefined) numberWithin('lease', lease, 100, LONGEST_LEASE);
  if (maxHold !== undefined) numberWithin('maxHold', maxHold, 1, Infinity);
  wordWithin('order', order, ['coalesce', 'strict']);
  optionalText('idempotencyKey', idempotencyKey);
  optionalText('consumerId', consumerId);
  optionalSignal('signal', signal);
  if (result !== undefined) functionNeeded('result', result);
  if (order === 'strict' && idempotencyKey !== undefined) {
    throw wrongSetting(`idempotencyKey is ${JSON.stringify(idempotencyKey)}; with order "strict" it is not allowed`);
  }
}

async function underTurn<T>(
  base: Base,
  turn: Turn,
  askedAt: number,
  options: WithTurnOptions<T>,
  handler: TurnHandler<T>,
  span: TraceSpan | undefined,
): Promise<TurnOutcome<T>> {
  const { clock } = base.transport;
  const held = base.transport.hold(turn, askedAt);
  const { queue, key, token, attempt } = turn;
  span?.granted(turn);
  try {
    const stop = new StopSignal(held, [options.signal]);
    const heldKey = {
      queue,
      key,
      token,
      attempt,
      get signal() {
        return stop.signal;
      },
    };
    const work = () => handler(heldKey);
    const ending = await runUnder(clock, held, stop, options.maxHold, span === undefined ? work : () => span.run(work));
    return await giveBack(base, turn, resultOf(ending, options));
  } finally {
    // Not before the turn is settled: a session that reconnects meanwhile gives back a turn without a holder, and the handler's end would be lost.
    held.release();
  }
}

type Finished<T> = Ending<T> & { readonly result?: Bytes | undefined };

/** The user's function may throw, as the handler may. */
function resultOf<T>(ending: Ending<T>, { result }: WithTurnOptions<T>): Finished<T> {
  if (ending.kind !== 'done' || result === undefined) return ending;
  try {
    const bytes = result(ending.value);
    // It may be sent more than once. What is no bytes is refused by name.
    return { ...ending, result: bytes instanceof Uint8Array ? copied(bytes) : bytes };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

async function giveBack<T>(base: Base, turn: Turn, ending: Finished<T>): Promise<TurnOutcome<T>> {
  const { token } = turn;
  switch (ending.kind) {
    case 'done':
      await settle(base, turn, { result: ending.result });
      return { status: 'done', value: ending.value, token };
    case 'failed':
      // Its error is what matters; a turn that cannot be given back ends with its lease or its session.
      await settle(base, turn, { abandoned: true }).catch(() => undefined);
      throw ending.error;
    case 'lost':
      throw ending.error;
  }
}

async function settle(
  base: Base,
  { queue, key, token }: Turn,
  how: { readonly result?: Bytes | undefined; readonly abandoned?: boolean },
): Promise<void> {
  const until = base.transport.clock.now() + GRACE_MS;
  try {
    await patiently(base, { until, bears: ['away', 'full'] }, (timeout) =>
      base.transport.deQueue({ queue, key, token, ...how }, { timeout }),
    );
  } catch (error) {
    if (failureOf(error) !== 'lost' || error instanceof TurnLostError) throw error;
    throw new TurnLostError(messageOf(error), 'unknown');
  }
}
