/**
 * Turns that live by their lease: each is renewed when a third of it has passed, many with one Renew, and one that could
 * not be renewed is given up before its lease may have ended.
 *
 * The end of a lease is reckoned from the moment the last good renewal was *sent*, by the local monotonic clock: so a
 * turn is given up rather too early than too late.
 */
import type { Calls, HeldTurn, Turns } from '../calls.js';
import type { Clock } from '../clock.js';
import type { TurnLoss } from '../errors.js';
import type { RenewResult, Turn } from '../words.js';
import { Held } from './held-turn.js';
import { marginOf } from './margin.js';

/** The most that one Renew may name. */
const LARGEST_BATCH = 1_000;
/** Parts of a lease: when it is renewed, how long a renewal may take, and when one that failed is tried again. */
const RENEW_AFTER = 1 / 3;
const TRY_AGAIN_AFTER = 1 / 10;
/** Turns whose renewal is due within this part of their lease are renewed together with those that are due now. */
const TOGETHER = 1 / 12;

export class RenewedTurns implements Turns {
  readonly #calls: Pick<Calls, 'renew'>;
  readonly #clock: Clock;
  readonly #margin: number | undefined;
  readonly #held = new Set<RenewedTurn>();
  #callOff: (() => void) | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(calls: Pick<Calls, 'renew'>, clock: Clock, margin: number | undefined) {
    this.#calls = calls;
    this.#clock = clock;
    this.#margin = margin;
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = new RenewedTurn(turn, marginOf(turn.lease, this.#margin), (one) => this.#held.delete(one));
    held.confirmed(askedAt);
    // It was asked for so long ago that a wait lies between: the turn is younger than the call, by how much only a renewal
    // tells, at once. Until then it is taken to be as old as a turn may be whose holder was never suspended on the way.
    const now = this.#clock.now();
    if (held.loseAt <= now || held.renewAt <= now) held.provisional(now);
    this.#held.add(held);
    this.#arm(held.nextAt);
    return held;
  }

  /** @returns the turn with this token, if it is held here */
  find(queue: string, token: number): HeldTurn | undefined {
    for (const held of this.#held) if (held.turn.token === token && held.turn.queue === queue) return held;
    return undefined;
  }

  /** The sidecar said so. */
  lose(queue: string, token: number, cause: TurnLoss): void {
    for (const held of this.#held) {
      if (held.turn.token === token && held.turn.queue === queue) this.#lose(held, cause);
    }
  }

  /** How many are held. */
  get size(): number {
    return this.#held.size;
  }

  close(cause: TurnLoss = 'closed'): void {
    this.#callOff?.();
    this.#callOff = undefined;
    for (const held of this.#held) this.#lose(held, cause);
  }

  #lose(held: RenewedTurn, cause: TurnLoss): void {
    this.#held.delete(held);
    held.lose(cause);
  }

  #arm(at: number): void {
    if (at >= this.#armedFor) return;
    this.#callOff?.();
    this.#armedFor = at;
    this.#callOff = this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#tick());
  }

  #tick(): void {
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#callOff = undefined;
    const now = this.#clock.now();
    let due: RenewedTurn[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#held) {
      if (held.loseAt <= now) this.#lose(held, 'unreachable');
      else if (held.isDue(now)) due.push(held);
      else next = Math.min(next, held.nextAt);
    }
    for (; due.length > 0; due = due.slice(LARGEST_BATCH)) this.#renew(due.slice(0, LARGEST_BATCH), now);
    this.#arm(next);
  }

  #renew(batch: readonly RenewedTurn[], now: number): void {
    for (const held of batch) {
      held.asking = true;
      this.#arm(held.nextAt);
    }
    const turns = batch.map(({ turn: { queue, key, token } }) => ({ queue, key, token }));
    const timeout = Math.max(1, Math.min(...batch.map((held) => Math.min(held.turn.lease / 3, held.loseAt - now))));
    this.#calls.renew({ turns }, { timeout }).then(
      ({ results }) => {
        for (const [at, held] of batch.entries()) this.#renewed(held, now, results[at]);
      },
      // Whatever went wrong, a turn is ours until its lease ends, and then it is not.
      () => {
        for (const held of batch) this.#again(held);
      },
    );
  }

  #renewed(held: RenewedTurn, sentAt: number, result: RenewResult | undefined): void {
    if (!this.#held.has(held)) return;
    held.asking = false;
    if (result?.alive === false) return this.#lose(held, result.cause);
    held.confirmed(sentAt);
    this.#arm(held.nextAt);
  }

  #again(held: RenewedTurn): void {
    if (!this.#held.has(held)) return;
    held.asking = false;
    held.renewAt = this.#clock.now() + held.turn.lease * TRY_AGAIN_AFTER;
    this.#arm(held.nextAt);
  }
}

class RenewedTurn extends Held {
  /** A renewal is on its way. */
  asking = false;
  renewAt = 0;
  loseAt = 0;

  constructor(
    turn: Turn,
    private readonly margin: number,
    private readonly onRelease: (held: RenewedTurn) => void,
  ) {
    super(turn);
  }

  get nextAt(): number {
    return this.asking ? this.loseAt : Math.min(this.renewAt, this.loseAt);
  }

  isDue(now: number): boolean {
    return !this.asking && this.renewAt - this.turn.lease * TOGETHER <= now;
  }

  /** It lived when what was sent at this moment was answered. */
  confirmed(sentAt: number): void {
    this.loseAt = sentAt + this.turn.lease - this.margin;
    this.renewAt = sentAt + this.turn.lease * RENEW_AFTER;
  }

  provisional(now: number): void {
    this.renewAt = now;
    this.loseAt = now + this.turn.lease / 3;
  }

  release(): void {
    this.onRelease(this);
  }
}
