import { BackOff } from '../retry/back-off.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { GRACE_MS, LONGEST_WAIT_MS } from '../words/calls.js';
import { KeyturnError, TlsError } from '../words/errors.js';
import { failureOf, retryAfterOf } from '../words/failure.js';
import type { Bytes, EnQueueAnswer, Reason, Turn } from '../words/worker-words.js';

/** How long the giving up of a place may take before it is left to `ticket_ttl`, ms. */
const GIVING_UP = 2_000;
/** A sidecar that answers at once though it was asked to wait is not asked in a busy loop, ms. */
const LEAST_BETWEEN = 50;

export interface ClaimPlan {
  readonly queue: string;
  readonly key: string;
  /** Coalescing may decline; strict never does. */
  readonly order: 'coalesce' | 'strict';
  /** ms; unset: the queue's. */
  readonly wait: number | undefined;
  readonly lease: number | undefined;
  readonly consumerId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
}

type Claimed =
  | { readonly status: 'turn'; readonly turn: Turn; readonly askedAt: number }
  | {
      readonly status: 'declined';
      readonly reason: Reason;
      readonly survivorId: string | undefined;
      readonly retryAfter: number | undefined;
      readonly result: Bytes | undefined;
    }
  | { readonly status: 'blocked'; readonly ahead: number | undefined; readonly retryAfter: number | undefined };

/** Strict order has no other answer without a turn: Acquire does not count the callers ahead. */
type Answer = EnQueueAnswer | { readonly decision: 'block'; readonly ahead: undefined; readonly retryAfter: undefined };

/**
 * Waits in the line of a key, in one place however many calls it takes, until there is a decision or the wait ends.
 * A claim that does not get the turn leaves no place behind.
 */
export class Claim {
  readonly #base: Base;
  readonly #plan: ClaimPlan;
  /** Unset: the call does not stay, so it has no place to keep. */
  readonly #ticket: string | undefined;
  /** Unset: the queue's wait is not known; the sidecar ends it. */
  readonly #until: number | undefined;
  /** Without an end of its own a wait ends when the sidecar was away for so long. */
  #patientUntil: number | undefined;
  readonly #backOff: BackOff;
  /** When the first call was sent that may have got the turn, if answers were lost since. */
  #askedAt: number | undefined;

  constructor(base: Base, plan: ClaimPlan) {
    this.#base = base;
    this.#plan = plan;
    this.#ticket = plan.wait === 0 ? undefined : base.newId();
    this.#until = plan.wait === undefined ? undefined : this.#now() + plan.wait;
    this.#backOff = new BackOff(base.random);
  }

  /** @throws the signal's reason when it aborts, and KeyturnError when the sidecar refuses or is away for too long */
  async wait(): Promise<Claimed> {
    const { signal } = this.#plan;
    for (;;) {
      signal?.throwIfAborted();
      const asked = this.#now();
      this.#askedAt ??= asked;
      const claimed = await this.#once();
      if (signal?.aborted) {
        this.#giveUp(claimed?.status === 'turn' ? claimed.turn : undefined);
        throw signal.reason;
      }
      if (claimed !== undefined && claimed.status !== 'blocked') return claimed;
      if (claimed !== undefined && (this.#until === undefined || this.#now() >= this.#until)) {
        this.#giveUp();
        return claimed;
      }
      if (claimed !== undefined) await this.#notTooOften(asked);
    }
  }

  /** One call. Unset: no answer, and another try is worth it. */
  async #once(): Promise<Claimed | undefined> {
    const { signal } = this.#plan;
    try {
      const claimed = this.#claimed(await this.#ask());
      this.#backOff.reset();
      this.#patientUntil = undefined;
      return claimed;
    } catch (error) {
      // The call was ended with `leave`; `wait` throws the reason of the signal.
      if (signal?.aborted) return undefined;
      // A call that ran out of time was patient itself.
      const isOverdue = error instanceof KeyturnError && error.code === 'DEADLINE_EXCEEDED';
      this.#patientUntil ??= this.#now() + (isOverdue ? 0 : GRACE_MS);
      const left = (this.#until ?? this.#patientUntil) - this.#now();
      const mayCome = failureOf(error) === 'away' && !(error instanceof TlsError);
      if (this.#ticket === undefined || !mayCome || left <= 0) {
        this.#giveUp();
        throw error;
      }
      await pause(this.#base.transport.clock, Math.min(this.#backOff.next(retryAfterOf(error)), left), signal);
      return undefined;
    }
  }

  async #ask(): Promise<Answer> {
    const { queue, key, order, lease, consumerId, idempotencyKey, signal } = this.#plan;
    const ticket = this.#ticket;
    const wait = this.#part();
    const settings = { signal, leave: true, ...(wait === undefined ? {} : { timeout: wait + GRACE_MS }) };
    const call = { ticket, wait, lease, consumerId };
    if (order === 'coalesce') {
      return this.#base.transport.enQueue({ queue, key, idempotencyKey, ...call }, settings);
    }
    const { deliveries } = await this.#base.transport.acquire({ queues: [queue], key, ...call }, settings);
    const turn = deliveries[0]?.turn;
    if (turn === undefined) return { decision: 'block', ahead: undefined, retryAfter: undefined };
    return { decision: 'accept', turn, ticket };
  }

  /** What this call shall wait, whole ms. The ticket keeps the place between two calls. */
  #part(): number | undefined {
    if (this.#until === undefined) return undefined;
    return Math.ceil(Math.max(0, Math.min(this.#until - this.#now(), LONGEST_WAIT_MS)));
  }

  #claimed(answer: Answer): Claimed {
    if (answer.decision === 'accept') {
      return { status: 'turn', turn: answer.turn, askedAt: this.#askedAt ?? this.#now() };
    }
    this.#askedAt = undefined;
    if (answer.decision === 'block') return { status: 'blocked', ahead: answer.ahead, retryAfter: answer.retryAfter };
    const { reason, survivorId, retryAfter, result } = answer;
    return { status: 'declined', reason, survivorId, retryAfter, result };
  }

  async #notTooOften(asked: number): Promise<void> {
    const left = asked + LEAST_BETWEEN - this.#now();
    if (left > 0) await pause(this.#base.transport.clock, left, this.#plan.signal);
  }

  /**
   * Also gives back a turn that came at the last moment, which the ticket would be held for otherwise. Not in the caller's
   * time: a sidecar that is away or silent would make every wait longer than it was asked to be. Closing the client waits
   * for it.
   */
  #giveUp(turn?: Turn): void {
    const { queue, key } = this.#plan;
    const holder = turn !== undefined ? { token: turn.token } : { ticket: this.#ticket };
    if (turn === undefined && this.#ticket === undefined) return;
    // If it fails too, the place ends with its `ticket_ttl`; why we leave matters more.
    this.#base.transport
      .deQueue({ queue, key, ...holder, abandoned: true }, { timeout: GIVING_UP })
      .catch(() => undefined);
  }

  #now(): number {
    return this.#base.transport.clock.now();
  }
}
