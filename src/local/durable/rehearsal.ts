import type { CoordinatorSettings } from '../../coordinator.js';
import type { Row } from '../../core/contract/rows.js';
import { Core, type Start } from '../../core/core.js';
import type { Clock } from '../clock.js';
import { recover } from './recovery.js';

/** So many rows make the code fast: more of them change nothing (ADR 039). */
const ENOUGH = 32_768;
/** Of one core, which is dropped then. */
const AT_ONCE = 16_384;

type Partition = NonNullable<Start['partition']>;

/**
 * The first rows that a process restores take it twice as long as later ones: the code was never run. Who will be in a hurry
 * to restore has some rows restored before, in slices, into a core that nobody sees and that is dropped. A core changes no
 * row that it takes in, so they may be used again.
 */
export class Rehearsal {
  #left = ENOUGH;

  constructor(
    private readonly clock: Clock,
    private readonly settings: (partition: number) => CoordinatorSettings,
  ) {}

  /** @param slices in the order in which rows are restored. Whatever is wrong with them is told when they count. */
  async run(partition: Partition, slices: () => Iterable<readonly Row[]>): Promise<void> {
    while (this.#left > 0) {
      const before = this.#left;
      await this.#once(partition, slices()).catch(() => undefined);
      // A small partition is restored in no time anyway.
      if (before - this.#left < AT_ONCE) return;
    }
  }

  async #once(partition: Partition, slices: Iterable<readonly Row[]>): Promise<void> {
    const { clock } = this;
    const [now, wall] = [clock.now(), clock.wall()];
    const settings = this.settings(partition.number);
    const start = { now, wall, seed: partition.number, durable: true, keepsContents: true, partition };
    await recover({
      journal: { before: { lastWrite: wall, rows: AT_ONCE }, read: () => this.#some(slices) },
      clock,
      makeCore: (tokenFloor) => new Core(settings, { ...start, tokenFloor }),
      now,
      emit: () => undefined,
      isCalledOff: () => false,
    });
  }

  async *#some(slices: Iterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
    const until = Math.max(0, this.#left - AT_ONCE);
    for (const slice of slices) {
      this.#left -= slice.length;
      yield slice;
      if (this.#left <= until) return;
    }
  }
}
