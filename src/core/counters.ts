import { DISTANCES, Histogram, SECONDS } from './histogram.js';
import { LANE_STATES, type LaneState } from './model.js';
import type { SettlementWay } from './views.js';

export type StaleCall = 'dequeue' | 'ack' | 'nack' | 'renew';
export type Rejection =
  | 'queue_full'
  | 'limit'
  | 'memory_full'
  | 'draining'
  | 'bad_request'
  | 'use_ack'
  | 'at_most_once';

/** What is counted for one queue, in plain numbers that are handed over at the scrape. */
export class Counters {
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
  readonly retries = { nack: 0, lease_expired: 0 };
  readonly deadLetters = { max_attempts: 0, refused: 0 };
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
  };
  readonly wait = new Histogram(SECONDS);
  readonly hold = new Histogram(SECONDS);
  readonly backoff = new Histogram(SECONDS);
  readonly repeatDistance = new Histogram(DISTANCES);
}

export function countsByState(): Record<LaneState, number> {
  return { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 };
}

export const STATES: readonly LaneState[] = LANE_STATES;
