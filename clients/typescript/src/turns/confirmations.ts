/**
 * How old a turn is that lives by its lease.
 *
 * It was given some time between the call and its answer, and only the local clock is trusted: after a wait, or when a
 * ticket was told its turn once more, its lease may be nearly over. So before the answer of such a call is handed on the
 * turn is renewed, and counts as young as that renewal.
 */

import type { Clock } from '../time/clock.js';
import type { Calls } from '../words/calls.js';
import { clientClosed } from '../words/errors.js';
import type { AckAnswer, Turn } from '../words/worker-words.js';

/** Turns that are being confirmed. */
interface Pending {
  readonly turns: readonly Turn[];
  readonly end: () => void;
}

/** Part of a lease within which an answer is as good as fresh. It is when a turn is renewed anyhow. */
const FRESH = 1 / 3;

export class Confirmations {
  readonly #confirmedAt = new WeakMap<Turn, number>();
  readonly #pending = new Set<Pending>();
  #isClosed = false;

  /** @param giveBack gives back turns that no caller will learn of, because the client is closed */
  constructor(
    private readonly calls: Pick<Calls, 'renew'>,
    private readonly clock: Clock,
    private readonly giveBack: (turn: Turn) => void,
  ) {}

  /**
   * The answer, once its turns are known to live, or known to be lost. When the client is closed before that they go back.
   *
   * @param without what is answered then; unset: the call is refused
   */
  async of<A>(asked: Promise<A>, turnsOf: (answer: A) => readonly Turn[], without?: (answer: A) => A): Promise<A> {
    const askedAt = this.clock.now();
    const answer = await asked;
    const turns = turnsOf(answer);
    if (turns.length === 0) return answer;
    const age = this.clock.now() - askedAt;
    const old = turns.filter(({ lease }) => age > lease * FRESH);
    const isGivenBack = !this.#isClosed && old.length > 0 && (await this.#isClosedBefore(this.#confirm(old), turns));
    if (!this.#isClosed) return answer;
    if (!isGivenBack) for (const turn of turns) this.giveBack(turn);
    if (without === undefined) throw clientClosed();
    return without(answer);
  }

  /** What is being confirmed goes back, and so does what comes from now on. */
  close(): void {
    this.#isClosed = true;
    for (const { turns, end } of this.#pending) {
      for (const turn of turns) this.giveBack(turn);
      end();
    }
    this.#pending.clear();
  }

  #isClosedBefore(confirmed: Promise<void>, turns: readonly Turn[]): Promise<boolean> {
    return new Promise((resolve) => {
      const pending = { turns, end: () => resolve(true) };
      this.#pending.add(pending);
      void confirmed.then(() => {
        this.#pending.delete(pending);
        resolve(false);
      });
    });
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
    // Without an answer the turns are as old as they may be: a holder of one learns that it is lost.
    const answer = await this.calls.renew({ turns: refs, lease }, { timeout }).catch(() => undefined);
    for (const [at, turn] of turns.entries()) if (answer?.results[at]?.alive) this.#confirmedAt.set(turn, sentAt);
  }
}

export function turnsOfDeliveries({ deliveries }: { readonly deliveries: readonly { readonly turn: Turn }[] }) {
  return deliveries.map(({ turn }) => turn);
}

/** An Ack that was accepted stays so, whatever became of the turns that it took along. */
export function withoutNext(answer: AckAnswer): AckAnswer {
  return { ...answer, next: { deliveries: [] } };
}
