/**
 * What a store that fell back may cost: nothing, while the home that wrote what was lost lives, is reached and puts it back. If it
 * dies or cannot be reached in the same time, or had given the partition up just then, nobody has it any more.
 */
import type { Guard } from '../../src/cluster/store/cluster-store.js';
import type { FakeEngine } from '../support/cluster/fake-engine.js';
import { type SimProcess, TTL } from './cluster-process.js';

interface Risk {
  readonly lost: Guard;
  readonly home: SimProcess;
  readonly since: number;
}

export class FallBacks {
  readonly #risks = new Map<number, Risk>();

  constructor(
    private readonly store: FakeEngine,
    private readonly partitions: number,
    private readonly now: () => number,
    private readonly processes: () => readonly SimProcess[],
    private readonly excuse: (partition: number, why: string) => void,
  ) {}

  fallBack(lost: number): void {
    const before = this.#guards();
    this.store.failOver(lost);
    const after = this.#guards();
    for (const [partition, guard] of before.entries()) {
      const now = after[partition];
      if (now === undefined || (now.owner === guard.owner && now.seq === guard.seq)) continue;
      const risk = this.#risks.get(partition);
      const lostGuard = risk !== undefined && risk.lost.epoch >= guard.epoch ? risk.lost : guard;
      // One that still loads has read less than it would have to put back.
      const home = this.processes().find(
        ({ isDead, member }) =>
          !isDead && member.guardOf(partition)?.owner === lostGuard.owner && member.standing(partition) !== 'loading',
      );
      if (home === undefined || lostGuard.owner === '') this.#excuse(partition, 'nobody is its home');
      else this.#risks.set(partition, { lost: lostGuard, home, since: this.now() });
    }
  }

  /** After every step of the world. */
  look(): void {
    for (const [partition, { lost, home, since }] of this.#risks) {
      const guard = this.store.guard(partition);
      const isBack = guard.owner === lost.owner && guard.seq >= lost.seq;
      const isTaken = guard.epoch > lost.epoch && guard.owner !== '' && !home.is(guard.member);
      const isGone = home.isDead || home.member.guardOf(partition) === undefined || isTaken;
      if (isBack) this.#risks.delete(partition);
      else if (isGone && home.disturbedAt >= since - TTL)
        this.#excuse(partition, `${home.name} was gone in the same time`);
      else if (this.now() - since > 2 * TTL && home.disturbedAt >= since - TTL)
        this.#excuse(partition, `${home.name} was not reached`);
    }
  }

  #excuse(partition: number, why: string): void {
    this.#risks.delete(partition);
    this.excuse(partition, why);
  }

  #guards(): readonly Guard[] {
    return Array.from({ length: this.partitions }, (_, partition) => this.store.guard(partition));
  }
}
