/**
 * The lane machine, as docs/SPEC.md has it: what each event does in each state. The core does not read it: each of its
 * calls does what is written here, and `table.test.ts` plays every cell on the core (docs/adr/025).
 */
import type { LaneState } from '../../../src/core/contract/model.js';

/** Everything that can happen to a lane. */
export const LANE_EVENTS = [
  'caller_arrives',
  'items_arrive',
  'dispatch',
  'settle_done',
  'settle_retry',
  'settle_release',
  'settle_dead_letter',
  'renew',
  'lease_ends',
  'wait_ends',
  'ticket_ends',
  'cancel',
  'take_over',
  'evict',
  'delay_ends',
  'gate_opens',
  'retry_now',
  'resume',
  'redrive',
  'discard',
  'adopt',
] as const;
export type LaneEvent = (typeof LANE_EVENTS)[number];

/**
 * What an event does in a state.
 *
 * - `start_or_line_up`: a turn at once if no gate holds it, else a place in the line
 * - `line_up`: a place in the line, if there is room
 * - `start`: the head gets its turn
 * - `end_turn`: the live turn ends; what it carried goes where the event says; the head is looked at
 * - `end_or_leave`: what the event names leaves: a held turn ends, or an entry leaves the line
 * - `extend`: the live turn lives longer
 * - `leave`: an entry leaves the line, or its call is answered and its ticket keeps the place
 * - `put_back`: items go to the head of the line
 * - `look`: the head is looked at
 * - `unpark`: the lane is no longer parked; the head is looked at
 * - `adopt`: a turn from before the start becomes the live one
 * - `stale`: refused, TURN_LOST; nothing changes
 * - `nothing`: there is nothing to do; nothing changes
 */
export type Move =
  | 'start_or_line_up'
  | 'line_up'
  | 'start'
  | 'end_turn'
  | 'end_or_leave'
  | 'extend'
  | 'leave'
  | 'put_back'
  | 'look'
  | 'unpark'
  | 'adopt'
  | 'stale'
  | 'nothing';

type Row = Readonly<Record<LaneEvent, Move>>;

/** No holder, nobody in the line. */
const INIT: Row = {
  caller_arrives: 'start_or_line_up',
  items_arrive: 'line_up',
  dispatch: 'nothing',
  settle_done: 'stale',
  settle_retry: 'stale',
  settle_release: 'stale',
  settle_dead_letter: 'stale',
  renew: 'stale',
  lease_ends: 'nothing',
  wait_ends: 'nothing',
  ticket_ends: 'nothing',
  cancel: 'nothing',
  take_over: 'nothing',
  evict: 'nothing',
  delay_ends: 'nothing',
  gate_opens: 'nothing',
  retry_now: 'nothing',
  resume: 'nothing',
  redrive: 'put_back',
  discard: 'nothing',
  adopt: 'adopt',
};

/** A holder, nobody in the line. */
const PROCESS: Row = {
  caller_arrives: 'line_up',
  items_arrive: 'line_up',
  dispatch: 'nothing',
  settle_done: 'end_turn',
  settle_retry: 'end_turn',
  settle_release: 'end_turn',
  settle_dead_letter: 'end_turn',
  renew: 'extend',
  lease_ends: 'end_turn',
  wait_ends: 'nothing',
  ticket_ends: 'end_turn',
  cancel: 'nothing',
  take_over: 'nothing',
  evict: 'end_turn',
  delay_ends: 'nothing',
  gate_opens: 'nothing',
  retry_now: 'nothing',
  resume: 'unpark',
  redrive: 'put_back',
  discard: 'nothing',
  adopt: 'adopt',
};

/** A holder, and others wait. */
const BLOCK: Row = {
  caller_arrives: 'line_up',
  items_arrive: 'line_up',
  dispatch: 'nothing',
  settle_done: 'end_turn',
  settle_retry: 'end_turn',
  settle_release: 'end_turn',
  settle_dead_letter: 'end_turn',
  renew: 'extend',
  lease_ends: 'end_turn',
  wait_ends: 'leave',
  ticket_ends: 'end_or_leave',
  cancel: 'leave',
  take_over: 'end_turn',
  evict: 'end_turn',
  delay_ends: 'nothing',
  gate_opens: 'nothing',
  retry_now: 'nothing',
  resume: 'unpark',
  redrive: 'put_back',
  discard: 'leave',
  adopt: 'adopt',
};

/** The head could start: an item waits for a worker, a caller for a gate. */
const READY: Row = {
  caller_arrives: 'line_up',
  items_arrive: 'line_up',
  dispatch: 'start',
  settle_done: 'stale',
  settle_retry: 'stale',
  settle_release: 'stale',
  settle_dead_letter: 'stale',
  renew: 'stale',
  lease_ends: 'nothing',
  wait_ends: 'leave',
  ticket_ends: 'leave',
  cancel: 'leave',
  take_over: 'nothing',
  evict: 'nothing',
  delay_ends: 'nothing',
  gate_opens: 'start',
  retry_now: 'nothing',
  resume: 'nothing',
  redrive: 'put_back',
  discard: 'leave',
  adopt: 'adopt',
};

/** Nobody may start yet; the line may be empty. */
const DELAY: Row = {
  caller_arrives: 'line_up',
  items_arrive: 'line_up',
  dispatch: 'nothing',
  settle_done: 'stale',
  settle_retry: 'stale',
  settle_release: 'stale',
  settle_dead_letter: 'stale',
  renew: 'stale',
  lease_ends: 'nothing',
  wait_ends: 'leave',
  ticket_ends: 'leave',
  cancel: 'leave',
  take_over: 'nothing',
  evict: 'nothing',
  delay_ends: 'look',
  gate_opens: 'nothing',
  retry_now: 'look',
  resume: 'nothing',
  redrive: 'put_back',
  discard: 'leave',
  adopt: 'adopt',
};

/** Stopped after a dead letter until it is resumed; the line may be empty. */
const PARK: Row = {
  caller_arrives: 'line_up',
  items_arrive: 'line_up',
  dispatch: 'nothing',
  settle_done: 'stale',
  settle_retry: 'stale',
  settle_release: 'stale',
  settle_dead_letter: 'stale',
  renew: 'stale',
  lease_ends: 'nothing',
  wait_ends: 'leave',
  ticket_ends: 'leave',
  cancel: 'leave',
  take_over: 'nothing',
  evict: 'nothing',
  delay_ends: 'nothing',
  gate_opens: 'nothing',
  retry_now: 'nothing',
  resume: 'unpark',
  redrive: 'put_back',
  discard: 'leave',
  adopt: 'adopt',
};

/** The lane machine: total, a missing cell does not compile. */
export const LANE_TABLE: Readonly<Record<LaneState, Row>> = Object.freeze({ INIT, PROCESS, BLOCK, READY, DELAY, PARK });
