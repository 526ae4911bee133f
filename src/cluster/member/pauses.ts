/** How long nobody decided about partitions that were handed over to this member, by its clock. */

/** What is older is that of another hand-over, ms. */
const LONGEST = 60_000;
/** A home that says late that it has handed over is believed for so long, ms. */
const LATE = 5_000;

export class Pauses {
  /** Since when partitions pause that are not open here yet. */
  readonly #begun = new Map<number, number>();
  readonly #opened = new Map<number, number>();
  readonly #paused = new Map<number, number>();

  /**
   * The last home says that it has handed over.
   * @param shutFor how long it had let no call in by then, ms
   * @returns whether it is news of a partition that is open
   */
  told(partition: number, shutFor: number, now: number): boolean {
    const begun = now - shutFor;
    const opened = this.#opened.get(partition);
    if (opened === undefined || opened < begun || now - opened > LATE) {
      this.#begun.set(partition, begun);
      return false;
    }
    this.#paused.set(partition, opened - begun);
    return true;
  }

  opened(partition: number, now: number): void {
    const begun = this.#begun.get(partition);
    this.#begun.delete(partition);
    this.#opened.set(partition, now);
    if (begun !== undefined && now - begun <= LONGEST) this.#paused.set(partition, now - begun);
  }

  /** It is not here any more. */
  gone(partition: number): void {
    this.#begun.delete(partition);
    this.#opened.delete(partition);
    this.#paused.delete(partition);
  }

  /** Of the hand-over by which it is here, ms; unset: it came otherwise, or nobody told. */
  of(partition: number): number | undefined {
    return this.#paused.get(partition);
  }
}
