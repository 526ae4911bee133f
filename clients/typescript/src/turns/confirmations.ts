/**
 * How old a turn is that lives by its lease.
 *
 * It was given some time between the call and its answer, and only the local clock is trusted: after a wait, or when a
 * ticket was told its turn once more, its lease may be nearly over. So before the answer of such a call is handed on the
 * turn is renewed, and counts as young as that renewal.
 */
import type { Calls } from '../calls.js';
import type { Clock } from '../clock.js';
import type { Turn } from '../words.js';

/** Part of a lease within which an answer is as good as fresh. It is when a turn is renewed anyhow. */
const FRESH = 1 / 3;

export class Confirmations {
  readonly #confirmedAt = new WeakMap<Turn, number>();

  constructor(
    private readonly calls: Pick<Calls, 'renew'>,
    private readonly clock: Clock,
  ) {}

  /** The answer, once its turns are known to live, or known to be lost. */
  async of<A>(asked: Promise<A>, turnsOf: (answer: A) => readonly Turn[]): Promise<A> {
    const askedAt = this.clock.now();
    const answer = await asked;
    const age = this.clock.now() - askedAt;
    const old = turnsOf(answer).filter(({ lease }) => age > lease * FRESH);
    if (old.length > 0) await this.#confirm(old);
    return answer;
  }

  /** The later of the two moments from which its life may be counted. */
  since(turn: Turn, askedAt: number): number {
    return Math.max(askedAt, this.#confirmedAt.get(turn) ?? askedAt);
  }

  async #confirm(turns: readonly Turn[]): Promise<void> {
    const sentAt = this.clock.now();
    const shortest = Math.min(...turns.map(({ lease }) => lease));
    const timeout = Math.max(1, shortest);
    // Where one was asked for all have it, and it is said again: a sidecar that started anew would tie turns to the
    // session that it adopts without one. Where each has its queue's nothing is tied.
    const lease = turns.every((turn) => turn.lease === shortest) ? shortest : undefined;
    const refs = turns.map(({ queue, key, token }) => ({ queue, key, token }));
    // Without an answer the turns are as old as they may be: whoever holds one is told that it is lost.
    const answer = await this.calls.renew({ turns: refs, lease }, { timeout }).catch(() => undefined);
    for (const [at, turn] of turns.entries()) if (answer?.results[at]?.alive) this.#confirmedAt.set(turn, sentAt);
  }
}

export function turnsOfDeliveries({ deliveries }: { readonly deliveries: readonly { readonly turn: Turn }[] }) {
  return deliveries.map(({ turn }) => turn);
}
