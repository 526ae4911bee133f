import type { Clock } from '../../local/clock.js';
import type { Member } from '../registry/registry.js';
import type { View } from './listing.js';
import type { MemberPartition } from './member-partition.js';
import type { ReadsAhead } from './reading-ahead.js';

/** The home serves meanwhile; but a person may wait for the move, or the process for its end, ms. */
const LONGEST = 5_000;
/** Incarnations that are remembered because they did not answer. */
const MOST_SILENT = 64;

interface HandOversOptions {
  readonly clock: Clock;
  own(): readonly MemberPartition[];
  view(): View;
  /** This incarnation. */
  self(): string;
  /** Also what nobody takes. */
  givesAll(): boolean;
  /** One to this member begins. */
  begins(to: Member): void;
  /** One to this member has ended; no call was let in for `shutFor` ms. */
  ended(partition: number, to: Member, shutFor: number): void;
  /** Unset: who is to be the next home reads the rows after it is. */
  readonly readsAhead: ReadsAhead | undefined;
}

interface Prepared {
  readonly go: () => void;
  readonly callOff: () => void;
}

/** Hand-overs that the next home prepares, while this one serves: it reads the rows, and says when it has them. */
export class HandOvers {
  readonly #prepared = new Map<number, Prepared>();
  /** They did not answer in time: of an older version, or not to be reached. They are not waited for again. */
  readonly #silent = new Set<string>();

  constructor(private readonly options: HandOversOptions) {}

  /** @param most with those that are under way */
  some(most: number, isWanted: (own: MemberPartition) => boolean): void {
    const all = this.options.own();
    let left = most - this.#prepared.size - all.filter(({ at }) => at === 'handing_over').length;
    for (const own of all) {
      if (left <= 0) return;
      if (own.at !== 'open' || this.#prepared.has(own.number) || !isWanted(own)) continue;
      left -= 1;
      const next = this.nextOf(own.number);
      if (next === undefined) own.handOver();
      else this.#handOverTo(next, own);
    }
  }

  /** Who is to be the next home; unset: nobody, or this member. */
  nextOf(partition: number): Member | undefined {
    const { wanted, members } = this.options.view();
    const next = members.get(wanted.of(partition) ?? '');
    return next?.id === this.options.self() ? undefined : next;
  }

  ended(partition: number, shutFor: number): void {
    const next = this.nextOf(partition);
    if (next !== undefined) this.options.ended(partition, next, shutFor);
  }

  /** Says to the home of this partition that its rows were read here, or will not be. */
  sayRead(partition: number): void {
    const { guards, members } = this.options.view();
    const home = members.get(guards[partition]?.member ?? '');
    if (home !== undefined) this.options.readsAhead?.done(partition, home);
  }

  #handOverTo(next: Member, own: MemberPartition): void {
    const { begins, givesAll } = this.options;
    begins(next);
    this.#prepare(own.number, next, () => {
      // The move may have been taken back meanwhile.
      if (givesAll() || this.nextOf(own.number)?.id === next.id) own.handOver();
    });
  }

  /** @param go called once: when the next home has read, or is not waited for */
  #prepare(partition: number, to: Member, go: () => void): void {
    const { clock, readsAhead } = this.options;
    if (readsAhead === undefined || this.#silent.has(to.id)) return go();
    const callOff = clock.after(LONGEST, () => {
      const [oldest] = this.#silent;
      if (this.#silent.size >= MOST_SILENT && oldest !== undefined) this.#silent.delete(oldest);
      this.#silent.add(to.id);
      this.hasRead(partition);
    });
    this.#prepared.set(partition, { go, callOff });
    readsAhead.tell(partition, to);
  }

  /** The next home has read it, or cannot. */
  hasRead(partition: number): void {
    const prepared = this.#prepared.get(partition);
    this.#prepared.delete(partition);
    prepared?.callOff();
    prepared?.go();
  }

  /** Nothing is handed over any more. */
  end(): void {
    for (const { callOff } of this.#prepared.values()) callOff();
    this.#prepared.clear();
  }
}
