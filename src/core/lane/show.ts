import type { CoordinatorEvent } from '../contract/views.js';
import { INIT, type Lane, PLAIN_CALLER, rowOf, type Turn } from '../state/lane.js';
import { Caller, type Entry, Line } from '../state/line.js';
import { type CoreState, dropLane } from '../state/state.js';
import { ROWS } from '../state/table.js';
import { markAllRoom, markRoom } from './gates.js';

/**
 * Brings the counts by state and the idle LRU in line with what the lane is now. Every step that changed a lane's
 * phase or line ends with this.
 */
export function show(state: CoreState, lane: Lane): void {
  const now = rowOf(lane);
  const was = lane.row;
  if (now === was) return;
  const { states } = lane.queue;
  states.move(was, now);
  lane.row = now;
  if (lane.spare !== undefined && lane.phase !== lane.spare) unload(lane.spare);
  if (was === ROWS.INIT) {
    state.busyLanes += 1;
    // Those that link it elsewhere have done so before; a lane that parks is in no other list.
    state.idle.delete(lane);
  } else if (now === ROWS.INIT) {
    state.busyLanes -= 1;
    markAllRoom(state, 'lanes');
    rest(state, lane);
  }
}

/** A turn that ended must not keep the items it carried. */
function unload(turn: Turn): void {
  if (turn.cargo.kind === 'items') turn.cargo = PLAIN_CALLER;
}

/** A keyless lane that never had a turn can be found by nobody: there is nothing to remember. */
function rest(state: CoreState, lane: Lane): void {
  if (lane.key === '' && lane.settlements === undefined) dropLane(lane);
  else state.idle.add(lane);
}

/** A lane that is new counts as INIT; it joins the LRU only when it comes to rest. */
export function countNew(lane: Lane): void {
  lane.queue.states.add(ROWS.INIT, 1);
}

/** Rejected or answered at once: a lane that was made for an arrival that left no trace goes to rest. */
export function restIfNew(state: CoreState, lane: Lane): void {
  if (lane.phase === INIT && lane.line === undefined && lane.rests === undefined) rest(state, lane);
}

export function lineOf(lane: Lane): Line {
  lane.line ??= new Line();
  return lane.line;
}

/** To be called for every entry that was put in a line. */
export function countIn(state: CoreState, entry: Entry): void {
  const queue = entry.lane.queue;
  if (entry instanceof Caller) {
    queue.callers.add(entry);
    state.waitingCallers += 1;
    // A line that it fills declines what waits for room, which then needs none.
    markRoom(state, queue);
  } else {
    queue.waitingItems += 1;
  }
}

/** Takes an entry out of its line, and its place with it. Its call, if it has one, is still to be answered. */
export function takeOut(state: CoreState, entry: Entry): void {
  const lane = entry.lane;
  lane.line?.remove(entry);
  if (lane.line?.length === 0) lane.line = undefined;
  countOut(state, entry);
}

export function countOut(state: CoreState, entry: Entry): void {
  const { lane } = entry;
  const queue = lane.queue;
  if (entry instanceof Caller) {
    state.wheel.cancel(entry);
    queue.callers.delete(entry);
    state.waitingCallers -= 1;
    if (entry.ticket !== undefined && lane.tickets?.get(entry.ticket) === entry) forgetTicket(lane, entry.ticket);
  } else {
    queue.waitingItems -= 1;
  }
  markRoom(state, queue);
}

export function forgetTicket(lane: Lane, ticket: string): void {
  if (lane.tickets?.delete(ticket) && lane.tickets.size === 0) lane.tickets = undefined;
}

type EventFields = Partial<Pick<CoordinatorEvent, 'token' | 'itemId' | 'consumerId' | 'detail'>>;

/** Tells those who watch. Callers check `state.watching` first: otherwise nothing may be paid for it. */
export function tell(
  state: CoreState,
  kind: CoordinatorEvent['kind'],
  lane: Lane,
  now: number,
  fields: EventFields,
): void {
  const { token, itemId, consumerId, detail } = fields;
  const at = now + state.wallOffset;
  const event = { kind, at, queue: lane.queue.name, key: lane.key, token, itemId, consumerId, detail };
  state.effects.push({ kind: 'event', event });
}

/** Why an entry left its line without a turn. */
export type Leaving =
  | 'wait_ended'
  | 'cancelled'
  | 'given_up'
  | 'ticket_ended'
  | 'superseded'
  | 'already_done'
  | 'draining';

/** As {@link tell}. */
export function tellLeaving(state: CoreState, entry: Entry, why: Leaving, now: number): void {
  const who = entry instanceof Caller ? { consumerId: entry.consumerId } : { itemId: entry.id };
  tell(state, 'leaving', entry.lane, now, { ...who, detail: why });
}
