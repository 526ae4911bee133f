import { LANE_STATES, type LaneState } from '../contract/model.js';
import type { SettlementWay } from '../contract/views.js';
import { DISTANCES, Histogram, SECONDS } from '../structures/histogram.js';
import { type CountedState, STATES } from './lane-states.js';

export type StaleCall = 'dequeue' | 'ack' | 'nack' | 'renew';
type Rejection =
  | 'queue_full'
  | 'limit'
  | 'memory_full'
  | 'draining'
  | 'bad_request'
  | 'use_ack'
  | 'at_most_once'
  | 'store_unavailable';

/**
 * What is counted for one queue since it was made, in plain numbers that are handed over at the scrape. They only grow,
 * and no decision reads them. A restart begins them at 0.
 */
export class Counters {
  /** Decisions ACCEPT of Submits, resends of known ids included, and of EnQueue. */
  accepted = 0;
  blocked = 0;
  readonly declined = { waiter_exists: 0, superseded: 0, already_done: 0, too_soon: 0 };
  readonly settlements: Record<SettlementWay, number> = {
    dequeue: 0,
    ack: 0,
    nack: 0,
    release: 0,
    expired: 0,
    evicted: 0,
    taken_over: 0,
  };
  /** Items that were accepted, without those that were known. */
  submitted = 0;
  /** Items that ended for good; a dead letter has not. */
  readonly finished = { done: 0, superseded: 0, discarded: 0 };
  readonly retries = { nack: 0, lease_expired: 0 };
  readonly deadLetters = { max_attempts: 0, max_crashes: 0, refused: 0, dependency: 0 };
  redriven = 0;
  readonly staleTokens: Record<StaleCall, number> = { dequeue: 0, ack: 0, nack: 0, renew: 0 };
  renewed = 0;
  idleEvicted = 0;
  readonly rejected: Record<Rejection, number> = {
    queue_full: 0,
    limit: 0,
    memory_full: 0,
    draining: 0,
    bad_request: 0,
    use_ack: 0,
    at_most_once: 0,
    store_unavailable: 0,
  };
  /** Seconds for which a turn was waited for (S126). `hold`: from its start, or hand-over, to its end. */
  readonly wait = new Histogram(SECONDS);
  readonly hold = new Histogram(SECONDS);
  readonly backoff = new Histogram(SECONDS);
  /** How far back the last arrival of the key is, in arrivals of the queue. */
  readonly repeatDistance = new Histogram(DISTANCES);
}

/** Lanes of a queue by their state. By index, not by name: twice a turn, a name would be looked up. */
export class LaneCounts {
  readonly #counts = new Int32Array(LANE_STATES.length);

  move(from: CountedState, to: CountedState): void {
    const counts = this.#counts;
    counts[from.index] = (counts[from.index] ?? 0) - 1;
    counts[to.index] = (counts[to.index] ?? 0) + 1;
  }

  add(state: CountedState, by: 1 | -1): void {
    this.#counts[state.index] = this.of(state) + by;
  }

  of(state: CountedState): number {
    return this.#counts[state.index] ?? 0;
  }

  view(): Record<LaneState, number> {
    const { INIT, PROCESS, BLOCK, READY, DELAY, PARK } = STATES;
    return {
      INIT: this.of(INIT),
      PROCESS: this.of(PROCESS),
      BLOCK: this.of(BLOCK),
      READY: this.of(READY),
      DELAY: this.of(DELAY),
      PARK: this.of(PARK),
    };
  }
}
