/**
 * Keeps turns alive that live by their lease: each is renewed when a third of it has passed, many with one Renew, and one
 * that could not be renewed is given up before its lease may have ended.
 *
 * The end of a lease is reckoned from the moment the last good renewal was *sent*, by the local monotonic clock: so a
 * turn is given up rather too early than too late.
 */

import { Alarm } from '../time/alarm.js';
import type { Clock } from '../time/clock.js';
import type { Calls } from '../words/calls.js';
import type { TurnLoss } from '../words/errors.js';
import type { RenewAnswer } from '../words/worker-words.js';
import type { Held } from './held-turn.js';
import { marginOf } from './margin.js';

/** The most that one Renew may name. */
export const MOST_PER_RENEW = 1_000;
/** Parts of a lease: when it is renewed, how long a renewal may take, and when one that failed is tried again. */
const RENEW_AFTER = 1 / 3;
const TIMEOUT = 1 / 3;
const TRY_AGAIN_AFTER = 1 / 10;
/** Turns whose renewal is due within this part of their lease are renewed together with those that are due now. */
const TOGETHER = 1 / 12;

export class Renewals {
  readonly #calls: Pick<Calls, 'renew'>;
  readonly #clock: Clock;
  readonly #margin: number | undefined;
  readonly #onLoss: (held: Held, cause: TurnLoss) => void;
  readonly #lives = new Map<Held, Life>();
  readonly #alarm: Alarm;

  /** @param margin how long before its end a turn is given up, ms; unset: a part of its lease */
  constructor(
    calls: Pick<Calls, 'renew'>,
    clock: Clock,
    margin: number | undefined,
    onLoss = (held: Held, cause: TurnLoss) => held.lose(cause),
  ) {
    this.#calls = calls;
    this.#clock = clock;
    this.#margin = margin;
    this.#onLoss = onLoss;
    this.#alarm = new Alarm(clock, () => this.#tick());
  }

  /** @param since when the turn was given, or confirmed, at the latest: what may have ended since is lost at once */
  keep(held: Held, since: number): void {
    if (held.lost || this.#lives.has(held)) return;
    const { lease } = held.turn;
    const life = new Life(lease, marginOf(lease, this.#margin));
    life.confirmed(since);
    if (life.loseAt <= this.#clock.now()) return this.#onLoss(held, 'unreachable');
    this.#lives.set(held, life);
    this.#alarm.by(life.nextAt);
  }

  /**
   * Its end by this clock is past: it was lost then, though a process that was held up tells its holder only now. So it does
   * not depend on what such a process reads first, its clock or what the sidecar says.
   */
  isOver(held: Held): boolean {
    const life = this.#lives.get(held);
    return life !== undefined && life.loseAt <= this.#clock.now();
  }

  /** The same of a turn that nobody held yet. */
  isOverAt(moment: number, lease: number, since: number): boolean {
    return since + lease - marginOf(lease, this.#margin) <= moment;
  }

  drop(held: Held): void {
    this.#lives.delete(held);
    if (this.#lives.size === 0) this.#alarm.off();
  }

  /** Nothing is renewed any more, and every turn is lost. */
  close(cause: TurnLoss): void {
    const all = [...this.#lives.keys()];
    this.#lives.clear();
    this.#alarm.off();
    for (const held of all) this.#onLoss(held, cause);
  }

  #lose(held: Held, cause: TurnLoss): void {
    this.drop(held);
    this.#onLoss(held, cause);
  }

  #tick(): void {
    const now = this.#clock.now();
    const due: Held[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [held, life] of this.#lives) {
      if (life.loseAt <= now) this.#lose(held, 'unreachable');
      else {
        if (life.isDue(now)) {
          life.asking = true;
          due.push(held);
        }
        next = Math.min(next, life.nextAt);
      }
    }
    this.#alarm.by(next);
    for (const alike of byLease(due))
      for (let at = 0; at < alike.length; at += MOST_PER_RENEW) this.#renew(alike.slice(at, at + MOST_PER_RENEW), now);
  }

  /** With their lease said: a sidecar that has just started and adopts them would else tie them to the session for good. */
  #renew(batch: readonly Held[], now: number): void {
    const turns = batch.map(({ turn: { queue, key, token } }) => ({ queue, key, token }));
    const timeout = batch.reduce((least, held) => Math.min(least, this.#patience(held, now)), Number.POSITIVE_INFINITY);
    const lease = batch[0]?.turn.lease;
    this.#calls.renew({ turns, lease }, { timeout: Math.max(1, timeout) }).then(
      (answer) => this.#renewed(batch, now, answer),
      // Whatever went wrong, a turn is ours until its lease ends, and then it is not.
      () => this.#again(batch),
    );
  }

  #patience(held: Held, now: number): number {
    const left = (this.#lives.get(held)?.loseAt ?? now) - now;
    return Math.min(held.turn.lease * TIMEOUT, left);
  }

  #renewed(batch: readonly Held[], sentAt: number, { results }: RenewAnswer): void {
    for (const [at, held] of batch.entries()) {
      const life = this.#lives.get(held);
      if (life === undefined) continue;
      life.asking = false;
      const result = results[at];
      if (result?.alive === false) this.#lose(held, this.isOver(held) ? 'unreachable' : result.cause);
      else {
        life.confirmed(sentAt);
        this.#alarm.by(life.nextAt);
      }
    }
  }

  #again(batch: readonly Held[]): void {
    const now = this.#clock.now();
    for (const held of batch) {
      const life = this.#lives.get(held);
      if (life === undefined) continue;
      life.asking = false;
      life.renewAt = now + held.turn.lease * TRY_AGAIN_AFTER;
      this.#alarm.by(life.nextAt);
    }
  }
}

/** All of one Renew get the same. */
function byLease(turns: readonly Held[]): Iterable<readonly Held[]> {
  const alike = new Map<number, Held[]>();
  for (const held of turns) {
    const { lease } = held.turn;
    const others = alike.get(lease);
    if (others === undefined) alike.set(lease, [held]);
    else others.push(held);
  }
  return alike.values();
}

class Life {
  /** A renewal is on its way. */
  asking = false;
  renewAt = 0;
  loseAt = 0;

  constructor(
    private readonly lease: number,
    private readonly margin: number,
  ) {}

  get nextAt(): number {
    return this.asking ? this.loseAt : Math.min(this.renewAt, this.loseAt);
  }

  isDue(now: number): boolean {
    return !this.asking && this.renewAt - this.lease * TOGETHER <= now;
  }

  /** It lived when what was sent at this moment was answered. */
  confirmed(sentAt: number): void {
    this.loseAt = sentAt + this.lease - this.margin;
    this.renewAt = sentAt + this.lease * RENEW_AFTER;
  }
}
