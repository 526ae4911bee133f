import type { Row } from '../../core/contract/rows.js';
import type { Clock } from '../../local/clock.js';
import type { Member } from '../registry/registry.js';
import type { ClusterStore, PartitionAhead } from '../store/cluster-store.js';

/** What members tell each other before a hand-over. */
export interface ReadsAhead {
  /** The next home is told to read the rows of a partition of this member. */
  readonly tell: (partition: number, to: Member) => void;
  /** The home is told that this member has read them. */
  readonly done: (partition: number, home: Member) => void;
  /** The rows will have to be restored in a hurry. */
  readonly rehearse?: (partition: number, slices: () => Iterable<readonly Row[]>) => Promise<void>;
}

/** Partitions that are read at once, or are kept: as many as a member that leaves hands over at once. */
const MOST = 8;
/** What is not claimed by then is not kept any longer, ms. */
const KEPT_FOR = 10_000;
/** What is written while it is read is read behind it, so often: then there is little left. */
const ROUNDS = 3;

interface Reading {
  /** Set: all is read. */
  ahead: PartitionAhead | undefined;
  callOff: () => void;
}

/**
 * The next home reads the rows of partitions while their home still serves. It is only a cache: whether it is all there is the store
 * proves after the claim. What goes wrong here is no trouble: the rows are read again then, and who is to know is told.
 */
export class ReadingAhead {
  readonly #readings = new Map<number, Reading>();
  #isEnded = false;

  /** @param hasRead called when the home may hand it over, also when nothing came of it */
  constructor(
    private readonly clock: Clock,
    private readonly store: Pick<ClusterStore, 'readAhead'>,
    private readonly options: Pick<ReadsAhead, 'rehearse'> | undefined,
    private readonly hasRead: (partition: number) => void,
  ) {}

  begin(partition: number): void {
    if (this.#isEnded) return;
    // Told again: what is being read now is as good; what was read before is not of a batch that is kept any more.
    const known = this.#readings.get(partition);
    if (known !== undefined && known.ahead === undefined) return;
    if (known === undefined && this.#readings.size >= MOST) return this.hasRead(partition);
    known?.callOff();
    const reading: Reading = { ahead: undefined, callOff: () => undefined };
    reading.callOff = this.clock.after(KEPT_FOR, () => this.#forget(partition, reading));
    this.#readings.set(partition, reading);
    void this.#read(partition, reading);
  }

  /** What was read as a whole, once. What is still being read is given up. */
  take(partition: number): PartitionAhead | undefined {
    const reading = this.#readings.get(partition);
    if (reading !== undefined) this.#forget(partition, reading);
    return reading?.ahead;
  }

  end(): void {
    this.#isEnded = true;
    for (const [partition, reading] of this.#readings) this.#forget(partition, reading);
  }

  async #read(partition: number, reading: Reading): Promise<void> {
    const isWanted = () => this.#readings.get(partition) === reading;
    const ahead = await this.#whole(partition, isWanted).catch(() => undefined);
    if (!isWanted()) return;
    if (ahead === undefined) this.#forget(partition, reading);
    else reading.ahead = ahead;
    this.hasRead(partition);
  }

  async #whole(partition: number, isWanted: () => boolean): Promise<PartitionAhead | undefined> {
    const ahead = await this.store.readAhead(partition, isWanted);
    // While its home serves; what is written meanwhile is read behind it.
    if (ahead !== undefined && isWanted()) await this.options?.rehearse?.(partition, () => ahead.slices());
    for (let left = ROUNDS - 1; left > 0; left -= 1) {
      if (!isWanted() || (await ahead?.catchUp()) !== true) return undefined;
    }
    return ahead;
  }

  #forget(partition: number, reading: Reading): void {
    reading.callOff();
    if (this.#readings.get(partition) === reading) this.#readings.delete(partition);
  }
}
