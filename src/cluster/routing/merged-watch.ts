import type { CoordinatorEvent, Refusal, Watch, Watcher } from '../../coordinator.js';
import { isAway } from './asking.js';
import type { Router } from './router.js';

/** Which events. Unset: all. */
interface Wanted {
  readonly queue: string | undefined;
  readonly key: string | undefined;
  /** Who watches; unset: that is not known. */
  readonly principal: string | undefined;
}

/**
 * The events of several homes as one stream. Each home keeps a bounded buffer of its own, and nothing is kept here: events
 * are taken from homes when the reader takes them.
 */
export class MergedWatch implements Watch {
  readonly #parts = new Map<number, PartOfWatch>();
  /** Events that were missed, told when the ones before are taken. */
  #missed = 0;
  #isWoken = false;
  #isOver = false;
  readonly #again = () => this.#watchMissing();

  constructor(
    private readonly router: Router,
    readonly wanted: Wanted,
    private partitions: readonly number[],
    private readonly watcher: Watcher,
    private readonly onEnd: (watch: MergedWatch) => void,
  ) {}

  /** @returns why it cannot be watched. Homes that are away are watched when they are there */
  begin(): Refusal | undefined {
    for (const partition of this.partitions) {
      const refusal = this.#watch(partition);
      if (refusal === undefined || refusal.kind === 'no_home') continue;
      this.stop();
      return refusal;
    }
    this.#urge();
    return undefined;
  }

  take(): { readonly events: readonly CoordinatorEvent[]; readonly missed: number } {
    const events: CoordinatorEvent[] = [];
    for (const part of this.#parts.values()) {
      const taken = part.take();
      for (const event of taken.events) events.push(event);
      this.#missed += taken.missed;
    }
    if (events.length > 0) {
      // Each home tells its own in order; of different homes the moments decide.
      events.sort((a, b) => a.at - b.at);
      return { events, missed: 0 };
    }
    const missed = this.#missed;
    this.#missed = 0;
    this.#isWoken = missed > 0;
    return { events, missed };
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.router.gates.rest(this.#again);
    for (const part of this.#parts.values()) part.stop();
    this.#parts.clear();
    this.onEnd(this);
  }

  /** The coordinator ends; or a home that there is refuses to be watched: what is not whole is no watch. */
  end(why?: Refusal): void {
    if (this.#isOver) return;
    this.stop();
    this.watcher.end(why);
  }

  changed(partitions: readonly number[]): void {
    for (const partition of partitions) {
      if (!this.partitions.includes(partition)) continue;
      const part = this.#parts.get(partition);
      if (part !== undefined && part.home !== this.router.homes.home(partition)) this.#lost(part);
    }
    this.#watchMissing();
  }

  /** What it watches is in these partitions from now on. What happens there until they are watched is missed, and counted. */
  reroute(partitions: readonly number[]): void {
    if (this.#isOver) return;
    this.partitions = partitions;
    for (const part of [...this.#parts.values()]) if (!partitions.includes(part.partition)) this.#lost(part);
    this.#watchMissing();
  }

  #watch(partition: number): Refusal | undefined {
    const home = this.router.homes.home(partition);
    if (home === undefined) return this.router.gates.refusal(partition);
    const part = new PartOfWatch(partition, home, () => this.#wake());
    const { queue, key, principal } = this.wanted;
    const { isGuest } = this.watcher;
    const watcher: Watcher = {
      ...(isGuest === undefined ? {} : { isGuest }),
      wake: () => part.wake(),
      end: (why) => this.#ended(part, why),
    };
    const watched = home.admin.watch(queue, key, watcher, principal);
    if (!watched.ok) return watched.refusal;
    part.watch = watched.value;
    this.#parts.set(partition, part);
    return undefined;
  }

  /** What was not taken of it is counted, and with it what may happen until its next home is watched. */
  #lost(part: PartOfWatch): void {
    this.#parts.delete(part.partition);
    part.stop();
    this.#missed += 1;
    this.#urge();
    this.#wake();
  }

  #ended(part: PartOfWatch, why: Refusal | undefined): void {
    if (this.#isOver || this.#parts.get(part.partition) !== part) return;
    if (why !== undefined && !isAway(why)) return this.end(why);
    if (why === undefined) return this.#lost(part);
    // It never began there: what is missed since the home before it was counted with that.
    this.#parts.delete(part.partition);
    this.#urge();
  }

  #watchMissing(): void {
    for (const partition of this.partitions) {
      const refusal = this.#isOver || this.#parts.has(partition) ? undefined : this.#watch(partition);
      if (refusal !== undefined && !isAway(refusal)) return this.end(refusal);
    }
    this.#urge();
  }

  #urge(): void {
    if (!this.#isOver && this.#parts.size < this.partitions.length) this.router.gates.urge(this.#again);
    else this.router.gates.rest(this.#again);
  }

  #wake(): void {
    if (this.#isWoken || this.#isOver) return;
    this.#isWoken = true;
    this.watcher.wake();
  }
}

const NOTHING = Object.freeze({ events: Object.freeze([]), missed: 0 });

class PartOfWatch {
  watch: Watch | undefined;
  isAwake = false;

  constructor(
    readonly partition: number,
    readonly home: unknown,
    private readonly onWake: () => void,
  ) {}

  wake(): void {
    this.isAwake = true;
    this.onWake();
  }

  /** Until it comes back empty: then it wakes again. */
  take(): { readonly events: readonly CoordinatorEvent[]; readonly missed: number } {
    if (!this.isAwake) return NOTHING;
    const taken = this.watch?.take() ?? NOTHING;
    this.isAwake = taken.events.length > 0 || taken.missed > 0;
    return taken;
  }

  stop(): void {
    this.watch?.stop();
  }
}
