import type { CoordinatorEvent, Refusal, Watch, Watcher } from '../../coordinator.js';
import { ASK, writeNumbers, writeWatch } from './codec/entries.js';
import { fromBytes } from './codec/shapes.js';
import { events as shape } from './codec/views.js';
import type { WireReader } from './codec/wire-reader.js';
import type { Lane } from './lane.js';
import type { Life, OpenEntry } from './life.js';

/** Events kept for one reader that has not taken them yet. */
const BUFFER = 1_000;

/** A watch of events at another sidecar. It ends with the link. What its reader is too slow for is counted, not kept. */
export class RemoteWatch implements Watch, OpenEntry {
  lane: Lane;
  message = 0;
  /** Set: it did not begin. */
  refusal: Refusal | undefined;
  #id = 0;
  #events: CoordinatorEvent[] = [];
  /** Missed after those. */
  #missed = 0;
  #isWoken = false;
  #isOver = false;

  constructor(
    private readonly life: Life,
    private readonly watcher: Watcher,
    private readonly report: (error: unknown) => void,
  ) {
    this.lane = life.small;
  }

  begin(partition: number, wanted: Parameters<typeof writeWatch>[3]): void {
    this.#id = this.life.keep(this);
    this.lane = this.life.write(this.life.small, (out) => writeWatch(out, this.#id, partition, wanted));
    this.message = this.lane.gathering;
    this.lane.schedule();
  }

  take(): { readonly events: readonly CoordinatorEvent[]; readonly missed: number } {
    const events = this.#events;
    this.#events = [];
    // The gap comes with the next take: it stands behind these.
    if (events.length > 0) {
      this.#isWoken = this.#missed > 0;
      return { events, missed: 0 };
    }
    const missed = this.#missed;
    this.#missed = 0;
    this.#isWoken = false;
    return { events: [], missed };
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.life.forget(this.#id);
    this.life.write(this.life.small, (out) => writeNumbers(out, ASK.watchEnds, this.#id)).schedule();
  }

  answered(_outcome: number, _from: WireReader): void {
    throw new RangeError('an answer of a worker to a watch');
  }

  refused(refusal: Refusal): void {
    this.refusal = refusal;
    this.#end();
  }

  told(bytes: Buffer, missed: number): void {
    if (this.#isOver) return;
    if (bytes.length > 0) for (const event of fromBytes(shape, bytes)) this.#keep(event);
    this.#missed += missed;
    if (this.#isWoken || (this.#events.length === 0 && this.#missed === 0)) return;
    this.#isWoken = true;
    this.#tell(() => this.watcher.wake());
  }

  lost(): void {
    this.#end();
  }

  #keep(event: CoordinatorEvent): void {
    if (this.#events.length < BUFFER && this.#missed === 0) this.#events.push(event);
    else this.#missed += 1;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tell(() => this.watcher.end(this.refusal));
  }

  #tell(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.report(error);
    }
  }
}
