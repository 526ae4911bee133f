import type { ClaimKind, ClusterNumbers } from '../../coordinator.js';
import { Histogram, SECONDS } from '../../core/structures/histogram.js';
import type { Happening, MemberWatcher } from './happenings.js';

/** Rows of a batch. */
const SIZES = Object.freeze(Array.from({ length: 21 }, (_, i) => 2 ** i));

/** What happened to the partitions of this member since it began. */
export class MemberCounts implements MemberWatcher {
  readonly #claims: Record<ClaimKind, number> = { free: 0, failover: 0, own: 0, warm: 0 };
  #fenced = 0;
  #fellBack = 0;
  #moves = 0;
  readonly #failover = new Histogram(SECONDS);
  readonly #write = new Histogram(SECONDS);
  readonly #batchRows = new Histogram(SIZES);

  get numbers(): Omit<ClusterNumbers, 'partitions' | 'members' | 'parcels' | 'heldUpFor' | 'forwarded'> {
    return {
      claims: this.#claims,
      fenced: this.#fenced,
      fellBack: this.#fellBack,
      moves: this.#moves,
      failover: this.#failover,
      write: this.#write,
      batchRows: this.#batchRows,
    };
  }

  happened(_: number, what: Happening): void {
    switch (what.kind) {
      case 'claimed':
        this.#claims[what.how] += 1;
        return;
      case 'opened':
        if (what.noHomeFor !== undefined) this.#failover.add(what.noHomeFor / 1_000);
        return;
      case 'succeeded':
        this.#fenced += 1;
        return;
      case 'handed_over':
        this.#moves += 1;
        return;
      case 'fell_back':
        this.#fellBack += 1;
        return;
      case 'given_up':
        return;
    }
  }

  wrote(ms: number, rows: number): void {
    this.#write.add(ms / 1_000);
    this.#batchRows.add(rows);
  }
}
