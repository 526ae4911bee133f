import type { Clock } from '../../local/clock.js';
import type { Member } from '../registry/registry.js';
import type { LocalDeadline } from './deadline.js';
import type { View } from './listing.js';
import type { MemberPartition } from './member-partition.js';

/** Partitions that are handed over at once. */
const MOST_AT_ONCE = 8;
/** It waits no longer for others to be able to know that it leaves, ms. */
const UNTIL_KNOWN = 1_000;

interface LeavingHost {
  own(): readonly MemberPartition[];
  view(): View;
  readonly deadline: LocalDeadline;
  /** Whether that is, or was, an incarnation of this process. */
  isOwn(member: string): boolean;
  /** Who is wanted as the home of a partition, if that is another one. */
  nextOf(partition: number): Member | undefined;
  handOverSome(most: number, isWanted: (own: MemberPartition) => boolean): void;
}

/** How a member gives its partitions away, when it ends. */
export class Leaving {
  /** It gives up what nobody else may take, too. */
  givesAll = false;
  #isBegun = false;
  #onProgress: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly host: LeavingHost,
  ) {}

  get isBegun(): boolean {
    return this.#isBegun;
  }

  /** When everybody else leaves, too, or is gone, one that leaves is a home as long as turns live. */
  get takesNothing(): boolean {
    return this.#isBegun && (this.givesAll || !this.#isOfTheLast);
  }

  /**
   * Hands over what another member may take, now and later on; what nobody may take it keeps, and takes itself what others let go
   * of, because workers have turns there. Resolves when there is nothing to be handed over now, at the latest after `timeout` ms.
   */
  handOver(timeout: number): Promise<void> {
    const begun = this.clock.now();
    this.#isBegun = true;
    return new Promise<void>((resolve) => {
      const callOff = this.clock.after(timeout, resolve);
      this.#onProgress = () => {
        if (!this.#isKnown && this.clock.now() - begun < UNTIL_KNOWN) return;
        this.host.handOverSome(MOST_AT_ONCE, ({ number }) => this.givesAll || this.#hasSuccessor(number));
        if (!this.host.own().every((own) => this.#isDone(own))) return;
        callOff();
        resolve();
      };
      this.#onProgress();
    });
  }

  look(): void {
    this.#onProgress?.();
  }

  lookSoon(): void {
    if (this.#onProgress !== undefined) this.clock.soon(() => this.#onProgress?.());
  }

  end(): void {
    this.#onProgress = undefined;
  }

  /** Others take a partition at once when they know that this member is none for it any more. */
  get #isKnown(): boolean {
    const { deadline } = this.host;
    const seen = [...this.host.view().members.values()].some(({ id, isLeaving }) => isLeaving && this.host.isOwn(id));
    return seen || !deadline.isLive;
  }

  #isDone({ number, at }: MemberPartition): boolean {
    if (at === 'free') return true;
    return !this.givesAll && at !== 'handing_over' && !this.#hasSuccessor(number);
  }

  #hasSuccessor(partition: number): boolean {
    return this.host.nextOf(partition)?.isLeaving === false;
  }

  get #isOfTheLast(): boolean {
    for (const { id, weight, isLeaving } of this.host.view().members.values())
      if (weight > 0 && !isLeaving && !this.host.isOwn(id)) return false;
    return true;
  }
}
