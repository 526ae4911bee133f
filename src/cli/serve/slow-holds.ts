/** Turns that are held for longer than `slow_hold` of their queue, in the log: while they are, and when they have ended. */
import type { Config } from '../../config/config.js';
import type { Coordinator, SlowTurn } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import { traceIdOf } from '../trace-id.js';

/** How often it is looked who holds a turn for long, ms. */
const LOOK_EVERY = 5_000;
/** Of turns that have ended, lines in a span of time: a log that fills a disk tells nobody anything. */
const MOST_LINES = 20;
const SPAN = 10_000;
/** The age of turns is known to 100 ms. */
const SAME = 200;

export class SlowHolds {
  /** Since when the oldest turn is held that was told, by queue. */
  readonly #told = new Map<string, number>();
  #since = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #more = 0;
  #callOff: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly config: Pick<Config, 'coordinator'>,
    private readonly clock: Clock,
    private readonly warn: (fields: object, message: string) => void,
  ) {}

  /** A turn has ended. */
  readonly ended = (turn: SlowTurn): void => {
    const now = this.clock.now();
    if (now - this.#since >= SPAN) this.#begin(now);
    if (this.#lines >= MOST_LINES) {
      this.#more += 1;
      return;
    }
    this.#lines += 1;
    const { queue, key, token, consumerId, held, slowHold, how, itemIds, items, traceparent } = turn;
    const headers = traceparent === undefined ? undefined : new Map([['traceparent', traceparent]]);
    this.warn(
      {
        queue,
        key,
        token,
        consumer_id: consumerId,
        held_ms: Math.round(held),
        slow_hold_ms: slowHold,
        ended: how,
        items,
        item_ids: itemIds,
        trace_id: traceIdOf(headers),
      },
      'a turn was held for longer than slow_hold',
    );
  };

  /** Looks now and then, if any queue has a `slow_hold`. */
  watch(coordinator: Pick<Coordinator, 'statsInSlices'>): void {
    const { defaultPolicy, queues } = this.config.coordinator;
    if (![defaultPolicy, ...queues.values()].some(({ slowHold }) => slowHold !== undefined)) return;
    this.#callOff = this.clock.after(LOOK_EVERY, () => {
      // What cannot be asked now, as of a partition that is just being given up, is asked the next time.
      const looked = this.#look(coordinator).catch(() => undefined);
      void looked.then(() => {
        if (!this.#isClosed) this.watch(coordinator);
      });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff?.();
  }

  /** The first line of a span says how many were left out of the one before. */
  #begin(now: number): void {
    if (this.#more > 0) this.warn({ turns: this.#more }, 'more turns were held for longer than slow_hold');
    this.#since = now;
    this.#lines = 0;
    this.#more = 0;
  }

  async #look(coordinator: Pick<Coordinator, 'statsInSlices'>): Promise<void> {
    const held = new Set<string>();
    await coordinator.statsInSlices((queue) => {
      const { defaultPolicy, queues } = this.config.coordinator;
      const { slowHold } = queues.get(queue.name) ?? defaultPolicy;
      if (slowHold === undefined || queue.isGone) return;
      const { longestHold = 0, liveTurns } = queue.stats().view;
      if (longestHold <= slowHold) return;
      held.add(queue.name);
      this.#tell(queue.name, { longestHold, liveTurns, slowHold });
    });
    for (const name of this.#told.keys()) if (!held.has(name)) this.#told.delete(name);
    if (this.#more > 0 && this.clock.now() - this.#since >= SPAN) this.#begin(this.clock.now());
  }

  /** Each turn once: the oldest one stays the oldest until it ends. */
  #tell(queue: string, { longestHold, liveTurns, slowHold }: Record<'longestHold' | 'liveTurns' | 'slowHold', number>) {
    const since = this.clock.now() - longestHold;
    const told = this.#told.get(queue);
    if (told !== undefined && Math.abs(since - told) <= SAME) return;
    this.#told.set(queue, since);
    this.warn(
      { queue, held_ms: Math.round(longestHold), slow_hold_ms: slowHold, live_turns: liveTurns },
      'a turn is held for longer than slow_hold; "keyturn keys QUEUE --state PROCESS" lists who has turns',
    );
  }
}
