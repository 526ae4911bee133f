/** What the parts of a restore have in common: where rows belong, and what their instants mean in this run. */

import { isDurable } from '../contract/policy.js';
import { countNew } from '../lane/phase.js';
import { nameKeyless } from '../state/lane.js';
import { makeQueue } from '../state/queues.js';
import { Lane, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { after } from '../structures/due.js';
import { append, Link } from '../structures/link.js';

/** What is known of the run that wrote the rows. */
export interface Past {
  /** The instant of its last batch. Unset: there was none. */
  readonly lastWrite: number | undefined;
}

/**
 * A queue with more on disk than may be dropped silently, that is not to be kept there any more: how many of each
 * (S55).
 */
export interface Stranded {
  readonly queue: string;
  readonly items: number;
  readonly deadLetters: number;
  readonly liveTurns: number;
}

/** Where rows belong. Queues and lanes are made as rows name them; nothing is resolved or started here. */
export class Restored {
  /** Lanes of which something is remembered, in the order in which it was found. */
  readonly lanes = new Link();
  /** Lanes in which items wait, in the order of their first ones. */
  readonly waiting = new Link();
  /** By the name of the queue. */
  readonly stranded = new Map<string, Record<Exclude<keyof Stranded, 'queue'>, number>>();
  /** Instant of the last batch of the run before. */
  readonly #lastWrite: number;
  /** Keyless lanes of which something is remembered, by the `seq` of their items. */
  readonly #keyless = new Map<number, Lane>();

  constructor(
    readonly state: CoreState,
    { lastWrite }: Past,
    now: number,
  ) {
    // The instants of a directory never go back: if the wall clock was set back, this run begins where the last ended.
    // So no wait becomes longer by that.
    this.#lastWrite = lastWrite ?? now + state.epoch;
    state.epoch = Math.max(state.epoch, this.#lastWrite - now);
  }

  /** The moment of an instant. Those of what is past may be below 0. */
  moment(instant: number): number {
    return instant - this.state.epoch;
  }

  /**
   * When what ended at this instant ends now: no time passed since the last write, because nobody could renew it
   * meanwhile. Both instants are of one run, so no wall clock is trusted.
   */
  endOf(instant: number, now: number): number {
    return after(now, Math.max(0, instant - this.#lastWrite));
  }

  /**
   * The queue of a row, made if need be.
   *
   * @returns unset: it is not durable any more, or may not be at all
   */
  queue(name: string, now: number): Queue | undefined {
    const { queues, settings } = this.state;
    const known = queues.get(name);
    if (known !== undefined) return known.changes === undefined ? undefined : known;
    const policy = settings.queues.get(name) ?? (settings.autoCreate ? settings.defaultPolicy : undefined);
    if (policy === undefined || !isDurable(policy)) return undefined;
    // However many there may be: nothing of it is given up for that.
    return makeQueue(this.state, name, policy, settings.queues.has(name), now);
  }

  /** `seq` is used on disk: no new item or end may get it. */
  sawItem(seq: number): void {
    this.state.itemSeq = Math.max(this.state.itemSeq, seq);
  }

  strand(queue: string, what: Exclude<keyof Stranded, 'queue'>): void {
    const counts = this.stranded.get(queue) ?? { items: 0, deadLetters: 0, liveTurns: 0 };
    counts[what] += 1;
    this.stranded.set(queue, counts);
  }

  /**
   * The lane of a turn, a settlement or a parked key. It is resolved after all rows are there.
   *
   * @param seq which of the keyless lanes; unset: the lane of a key
   */
  lane(queue: Queue, key: string, seq: number | undefined): Lane {
    const known = this.knownLane(queue, key, seq);
    if (known !== undefined) return known;
    const lane = newLane(this.state, queue, key, seq);
    if (seq !== undefined) {
      this.#keyless.set(seq, lane);
      // Its item may be forgotten while its turns are remembered: another of that number would be put into its lane.
      this.sawItem(seq);
    }
    append(this.lanes, lane);
    return lane;
  }

  /** The lane of an item that waits: nothing else need be known of a keyless one. */
  laneOfItem(queue: Queue, key: string, seq: number): Lane {
    const keyless = key === '' ? seq : undefined;
    return this.knownLane(queue, key, keyless) ?? newLane(this.state, queue, key, keyless);
  }

  knownLane(queue: Queue, key: string, seq: number | undefined): Lane | undefined {
    return seq === undefined ? queue.lanes.get(key) : this.#keyless.get(seq);
  }
}

function newLane(state: CoreState, queue: Queue, key: string, seq: number | undefined): Lane {
  const lane = new Lane(queue, key);
  if (seq === undefined) queue.lanes.add(key, lane);
  else nameKeyless(lane, { seq });
  countNew(state, lane);
  return lane;
}
