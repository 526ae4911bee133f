/** One turn from its delivery to its end. */

import { type Patience, patiently } from '../retry/patience.js';
import { pause } from '../time/pause.js';
import { type Ending, runUnder } from '../turns/held-work.js';
import { StopSignal } from '../turns/stop-signal.js';
import type { Base } from '../words/base.js';
import type { HeldTurn } from '../words/calls.js';
import { KeyturnError } from '../words/errors.js';
import { failureOf, messageOf } from '../words/failure.js';
import type { Insiders } from '../words/insiders.js';
import type { LogDetails } from '../words/logger.js';
import type { TraceSpan } from '../words/tracing.js';
import type { AcquireCall, DeliveredItem, Delivery } from '../words/worker-words.js';
import type { ConsumeSettings, Stage, Work, WorkHandler } from './options.js';
import { Release, RetryLater, shortened, type Verdict, verdictOf, verdictOnError } from './verdict.js';

export interface Next {
  readonly deliveries: readonly Delivery[];
  readonly askedAt: number;
}

export interface Surroundings {
  readonly base: Base;
  readonly settings: ConsumeSettings;
  readonly handler: WorkHandler;
  readonly insiders: Insiders;
  /** What an Ack that is sent now shall take along. */
  next(): AcquireCall | undefined;
  /** It did. */
  taken(what: Next): void;
  trouble(error: unknown, stage: Stage, work: Work): void;
  /** A handler returned what no result can be made of. */
  ignored(why: string, work: Work): void;
}

/** How long the giving back of a turn at a stop may take, ms. */
const RELEASING = 2_000;
const CUT_OFF = 'a stop cut off a handler; its items go back without counting an attempt';
/** Whether an attempt is counted is the sidecar's to say: for a worker that was silent it does. */
const CUT_OFF_LOST = 'a stop cut off a handler whose turn was lost';
const MAY_WAIT =
  'the handler did not end. A handler that awaits close or stop itself waits for its own end: begin a shutdown elsewhere';
const NOT_BACK =
  'the items of a handler that was cut off could not be given back; the end of its turn counts an attempt';

export class Worker {
  readonly #around: Surroundings;
  readonly #delivery: Delivery;
  readonly #held: HeldTurn;
  readonly #stop: StopSignal;
  readonly #work: Work;
  #span: TraceSpan | undefined;
  #isGivenUp = false;
  #stopped: { readonly reason: unknown } | undefined;
  #isCutOff = false;
  /** The handler has ended, and its turn is being settled. */
  #isSettling = false;
  #over: Promise<void> | undefined;

  /** Begins to hold the turn. `item` is its first one. */
  constructor(around: Surroundings, delivery: Delivery, item: DeliveredItem, askedAt: number) {
    this.#around = around;
    this.#delivery = delivery;
    this.#held = around.base.transport.hold(delivery.turn, askedAt);
    this.#stop = new StopSignal(this.#held);
    this.#work = workOf(delivery, item, this.#stop);
  }

  /** Resolves when the handler has ended and the turn is settled, or cannot be. Never rejects. */
  run(): Promise<void> {
    this.#over ??= this.#run().catch((error: unknown) => this.#trouble(error, 'settle'));
    return this.#over;
  }

  async #run(): Promise<void> {
    const { base, settings, handler, insiders } = this.#around;
    const { clock } = base.transport;
    const span = base.tracing?.attempt(this.#delivery);
    this.#span = span;
    const work = () => insiders.run(() => handler(this.#work));
    const traced = span === undefined ? work : () => span.run(work);
    try {
      const ending = await runUnder(clock, this.#held, this.#stop, settings.maxHold, traced);
      if (!this.#isGivenUp) await this.#finish(ending);
    } finally {
      this.#held.release();
      span?.end();
    }
  }

  /** A stop ran out of time for it, and its items went back. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Tells the handler to stop. What it throws from now on gives the items back without counting an attempt. */
  abort(reason: unknown): void {
    this.#stopped = { reason };
    this.#stop.abort(reason);
  }

  /**
   * Gives the turn back though the handler has not ended: it was told, and time is over. A handler that has ended is waited
   * for once more: its Ack or Nack is on its way, and goes on after that; a release could only undo what was done.
   */
  async giveUp(): Promise<void> {
    if (this.#isSettling) return this.#waitFor(RELEASING);
    this.#isGivenUp = true;
    this.#cutOff(this.#stopped?.reason, { hint: MAY_WAIT });
    const isBack = await release(this.#around.base, this.#delivery);
    if (!isBack && !this.#held.lost) this.#warn(NOT_BACK, {});
    this.#held.release();
  }

  async #waitFor(ms: number): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.#over, pause(this.#around.base.transport.clock, ms, over.signal)]);
    over.abort();
  }

  #trouble(error: unknown, stage: Stage): void {
    if (stage === 'turn_lost') this.#span?.outcome('lost');
    if (stage === 'settle') this.#span?.outcome('unsettled');
    // To release is no failure.
    if (!(error instanceof Release)) this.#span?.failed(error);
    this.#around.trouble(error, stage, this.#work);
  }

  #cutOff(reason: unknown, details: LogDetails = {}): void {
    this.#isCutOff = true;
    this.#warn(this.#held.lost ? CUT_OFF_LOST : CUT_OFF, details);
    this.#trouble(reason, 'stop');
  }

  /** No worker gets them any more, so the log says it too: an application may look at nothing else. */
  #deadLettered(count: number, error: unknown): void {
    if (count === 0) return;
    this.#warn('items became dead letters', { items: count, error: shortened(messageOf(error)) });
    this.#trouble(error, 'dead_letter');
  }

  #warn(what: string, details: LogDetails): void {
    const { queue, key, token, attempt } = this.#delivery.turn;
    this.#around.base.log?.warn(`keyturn: ${what}`, { queue, key, token, attempt, ...details });
  }

  async #finish(ending: Ending<unknown>): Promise<void> {
    this.#isSettling = true;
    if (ending.kind === 'lost') return this.#trouble(ending.error, 'turn_lost');
    const verdict = ending.kind === 'done' ? this.#accept(ending.value) : this.#reject(ending.error);
    try {
      const dead = await this.#settle(verdict);
      this.#deadLettered(dead, ending.kind === 'failed' ? ending.error : verdict.call === 'nack' && verdict.error);
    } catch (error) {
      await this.#notSettled(error);
    }
  }

  #accept(value: unknown): Verdict {
    try {
      const ignored = (why: string) => this.#around.ignored(why, this.#work);
      return this.#stamped(verdictOf(value, this.#around.base.newId, ignored));
    } catch (error) {
      return this.#reject(error);
    }
  }

  /** What follows was caused by this attempt. */
  #stamped(verdict: Verdict): Verdict {
    const { tracing } = this.#around.base;
    const span = this.#span;
    if (span === undefined || tracing === undefined || verdict.call === 'nack') return verdict;
    const followUps = span.run(() =>
      verdict.followUps.map(({ queue, item }) => ({ queue, item: tracing.stamped(item) })),
    );
    return { ...verdict, followUps };
  }

  #reject(thrown: unknown): Verdict {
    const error = readable(thrown);
    const verdict = verdictOnError(error, this.#delivery.items.length);
    if (this.#stopped !== undefined && verdict.call === 'nack' && verdict.kind === 'retry') {
      this.#cutOff(this.#stopped.reason);
      return { ...verdict, kind: 'release', delay: undefined };
    }
    if (verdict.call === 'nack' && verdict.kind === 'retry') this.#warn('an attempt failed', failureDetails(error));
    this.#trouble(error, 'handler');
    return verdict;
  }

  /**
   * Goes on while the turn is ours, for as long as the settings say.
   *
   * @returns how many items became dead letters
   */
  async #settle(verdict: Verdict): Promise<number> {
    const { base, settings } = this.#around;
    const until = base.transport.clock.now() + settings.settleTimeout;
    const held = this.#held;
    const patience: Patience = {
      until,
      bears: ['away', 'full'],
      get signal() {
        return held.signal;
      },
    };
    if (verdict.call === 'ack') {
      await this.#ack(verdict, patience);
      this.#span?.outcome('ack');
      return 0;
    }
    const { queue, key, token } = this.#delivery.turn;
    const { kind, delay, done, error } = verdict;
    const { deadLettered } = await patiently(base, patience, (timeout) =>
      base.transport.nack({ queue, key, token, kind, delay, done, error }, { timeout }),
    );
    this.#span?.outcome(deadLettered > 0 ? 'dead_letter' : kind);
    return deadLettered;
  }

  async #ack({ result, followUps }: Extract<Verdict, { call: 'ack' }>, patience: Patience): Promise<void> {
    const { base } = this.#around;
    const { queue, key, token } = this.#delivery.turn;
    const next = this.#around.next();
    const askedAt = base.transport.clock.now();
    const answer = await patiently(base, patience, (timeout) =>
      base.transport.ack({ queue, key, token, result, followUps, next }, { timeout }),
    );
    this.#held.release();
    if (answer.next !== undefined) this.#around.taken({ deliveries: answer.next.deliveries, askedAt });
  }

  async #notSettled(error: unknown): Promise<void> {
    const failure = failureOf(error);
    if (failure === 'lost') return this.#trouble(error, 'turn_lost');
    this.#trouble(error, 'settle');
    if (this.#held.lost || failure !== 'refused') return;
    // Refused as it is, the turn is ours still: what it said is wrong, or the queue gives items once only.
    const kind = isAtMostOnce(error) ? 'release' : 'retry';
    const instead: Verdict = { call: 'nack', kind, delay: undefined, done: 0, error: shortened(messageOf(error)) };
    try {
      this.#deadLettered(await this.#settle(instead), error);
    } catch (again) {
      this.#trouble(again, 'settle');
    }
  }
}

/** Of what can be thrown a revoked proxy throws when it is asked what it is. */
function readable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('what was thrown cannot be read');
  }
}

/** Characters: a stack may be endless. */
const LONGEST_STACK = 2_000;

function failureDetails(error: unknown): LogDetails {
  const said = { error: shortened(messageOf(error)) };
  try {
    if (!(error instanceof Error) || error instanceof RetryLater) return said;
    // Whatever they are said to be, a program may put anything there.
    const { name, stack }: { name: unknown; stack?: unknown } = error;
    return { ...said, type: String(name), stack: String(stack).slice(0, LONGEST_STACK) };
  } catch {
    return said;
  }
}

function workOf({ turn, items }: Delivery, item: DeliveredItem, stop: StopSignal): Work {
  const { queue, key, token, attempt } = turn;
  return {
    queue,
    key,
    token,
    attempt,
    items,
    item,
    get signal() {
      return stop.signal;
    },
  };
}

function isAtMostOnce(error: unknown): boolean {
  return error instanceof KeyturnError && error.reason === 'AT_MOST_ONCE';
}

/** Gives a turn back that no handler works on. False: that failed, and the turn ends with its lease or its session. */
export async function release(base: Base, { turn }: Delivery): Promise<boolean> {
  const { queue, key, token } = turn;
  const call = { queue, key, token, kind: 'release', error: 'the consumer stopped' } as const;
  return base.transport.nack(call, { timeout: RELEASING }).then(
    () => true,
    () => false,
  );
}
