import type { Clock } from '../../local/clock.js';
import type { Member } from '../registry/registry.js';

/** The home serves meanwhile; but a person may wait for the move, or the process for its end, ms. */
const LONGEST = 5_000;
/** Incarnations that are remembered because they did not answer. */
const MOST_SILENT = 64;

interface Prepared {
  readonly go: () => void;
  readonly callOff: () => void;
}

/** Hand-overs that the next home prepares, while this one serves: it reads the rows, and says when it has them. */
export class HandOvers {
  readonly #prepared = new Map<number, Prepared>();
  /** They did not answer in time: of an older version, or not to be reached. They are not waited for again. */
  readonly #silent = new Set<string>();

  /** @param tell says to the next home that it should read. Unset: it is not done */
  constructor(
    private readonly clock: Clock,
    private readonly tell: ((partition: number, to: Member) => void) | undefined,
  ) {}

  /** Those under way. */
  get size(): number {
    return this.#prepared.size;
  }

  has(partition: number): boolean {
    return this.#prepared.has(partition);
  }

  /** @param go called once: when the next home has read, or is not waited for */
  prepare(partition: number, to: Member, go: () => void): void {
    if (this.tell === undefined || this.#silent.has(to.id)) return go();
    const callOff = this.clock.after(LONGEST, () => {
      const [oldest] = this.#silent;
      if (this.#silent.size >= MOST_SILENT && oldest !== undefined) this.#silent.delete(oldest);
      this.#silent.add(to.id);
      this.hasRead(partition);
    });
    this.#prepared.set(partition, { go, callOff });
    this.tell(partition, to);
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
