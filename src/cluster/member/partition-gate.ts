import type { Clock } from '../../local/clock.js';
import type { Gate } from '../../local/gate.js';
import type { LocalDeadline } from './deadline.js';

/** In front of what leaves one home: open until the deadline of the member, and then until it is opened again. */
export class PartitionGate implements Gate {
  #frozenAt: number | undefined;
  #assertBy = Number.POSITIVE_INFINITY;

  /** @param lapsed called when its own time has passed, though the member's has not */
  constructor(
    private readonly clock: Clock,
    private readonly deadline: LocalDeadline,
    private readonly lapsed: () => void,
  ) {}

  get until(): number {
    return this.#frozenAt ?? Math.min(this.deadline.until, this.#assertBy);
  }

  mayAnswer(): boolean {
    if (this.#frozenAt !== undefined) return false;
    if (!this.deadline.isLive) return false;
    if (this.clock.now() < this.#assertBy) return true;
    this.lapsed();
    return false;
  }

  get isAsserted(): boolean {
    return this.#assertBy === Number.POSITIVE_INFINITY;
  }

  /**
   * The store seems to be another one: what it has is looked at before the deadline that stands now, or all is closed.
   * @param since the last answer of the part of the store that counts; unset: as of the whole store
   */
  assertInTime(since?: number): void {
    const own = since === undefined ? Number.POSITIVE_INFINITY : this.deadline.of(since);
    this.#assertBy = Math.min(this.#assertBy, this.deadline.until, own);
  }

  asserted(): void {
    this.#assertBy = Number.POSITIVE_INFINITY;
  }

  shut(at: number): void {
    this.#frozenAt ??= Math.min(at, this.until);
  }

  /** @returns for how long time stood still, ms */
  open(): number {
    const since = this.#frozenAt;
    if (since === undefined) return 0;
    this.#frozenAt = undefined;
    this.asserted();
    // Not beyond what is allowed now: the time of the core must not be set back by what passes between two looks at the clock.
    return Math.max(0, Math.min(this.clock.now(), this.until) - since);
  }
}
