import type { CoordinatorEvent, Watch, Watcher } from '../coordinator.js';

/** Events kept for one reader that has not taken them yet. */
const BUFFER = 1_000;

interface Watching {
  /** Unset: all queues. */
  readonly queue: string | undefined;
  /** Unset: all keys. */
  readonly key: string | undefined;
  readonly watcher: Watcher;
  events: CoordinatorEvent[];
  missed: number;
  woken: boolean;
}

/** The watchers of events. Each has a bounded buffer: events that do not fit are counted as missed. */
export class Watches {
  readonly #watching = new Set<Watching>();
  #ended = false;

  constructor(private readonly onChange: (anybody: boolean) => void) {}

  get size(): number {
    return this.#watching.size;
  }

  /** A watch that began now would never be ended. */
  get isEnded(): boolean {
    return this.#ended;
  }

  add(queue: string | undefined, key: string | undefined, watcher: Watcher): Watch {
    const watching: Watching = { queue, key, watcher, events: [], missed: 0, woken: false };
    this.#watching.add(watching);
    this.onChange(true);
    return {
      take: () => take(watching),
      stop: () => {
        this.#watching.delete(watching);
        this.onChange(this.#watching.size > 0);
      },
    };
  }

  emit(event: CoordinatorEvent): void {
    for (const watching of this.#watching) {
      if (watching.queue !== undefined && watching.queue !== event.queue) continue;
      if (watching.key !== undefined && watching.key !== event.key) continue;
      if (watching.events.length < BUFFER && watching.missed === 0) watching.events.push(event);
      else watching.missed += 1;
      wake(watching);
    }
  }

  end(): void {
    this.#ended = true;
    const all = [...this.#watching];
    this.#watching.clear();
    this.onChange(false);
    for (const { watcher } of all) watcher.end();
  }
}

function wake(watching: Watching): void {
  if (watching.woken) return;
  watching.woken = true;
  watching.watcher.wake();
}

/**
 * What was kept, or, once that was taken, how many were missed after it: so that events stay in order, and the
 * gap stands where it was.
 */
function take(watching: Watching): { events: readonly CoordinatorEvent[]; missed: number } {
  const { events } = watching;
  watching.events = [];
  // The gap, if there is one, comes with the next take. The reader is not woken for it: it would take the gap before it has
  // handed on the events before it.
  if (events.length > 0) {
    watching.woken = watching.missed > 0;
    return { events, missed: 0 };
  }
  const { missed } = watching;
  watching.missed = 0;
  watching.woken = false;
  return { events, missed };
}
