/**
 * What a lane without a holder does next. Its phase follows from its line, its delays and the gates: INIT, READY and
 * DELAY are entered from here alone, so no event has to know which of them comes next.
 */

import type { Refusal } from '../contract/model.js';
import { recallKey } from '../items/idempotency.js';
import { lacksTurn } from '../state/client-bounds.js';
import { isHeldBack } from '../state/dependencies.js';
import { emitLeaving } from '../state/events.js';
import { pacedUntil } from '../state/lane.js';
import type { Delay } from '../state/phases.js';
import { takeOut } from '../state/places.js';
import { Caller, callerAssignment, type Entry, Item, type Lane } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { answerDecline, answerTurn, refuseLimit } from './answers.js';
import { failHead } from './fail-head.js';
import { closedGate, hasGateLine } from './gates.js';
import { delay, makeReady, rest } from './phase.js';
import { startTurn } from './turns.js';

/**
 * Decides the lane's next phase from its line, its delays and the gates; gives the turn to its head if that is a
 * caller who may start. A lane that is held or parked stays as it is. A lane that stays READY keeps its place among
 * the ready ones.
 *
 * It ends: each round that goes on has taken the head out of the line, or has parked the lane.
 *
 * @param pass the lane's turn at the gate has come: it need not line up there
 */
export function resolve(state: CoreState, lane: Lane, now: number, pass = false): void {
  while (step(state, lane, now, pass));
}

/**
 * One look at the head. The order matters: a head that cannot be done any more leaves before a delay can keep it; a
 * delay counts for an empty line too, because `min_interval` keeps the key out of INIT; a caller whose idempotency key
 * is done is answered before the gates are asked, so also behind a closed one (S17).
 *
 * @returns whether the head left, or the lane was parked: the lane has to be looked at once more
 */
function step(state: CoreState, lane: Lane, now: number, pass: boolean): boolean {
  if (lane.phase.at === 'HELD' || lane.phase.at === 'PARK') return false;
  const head = lane.line?.head;
  if (head !== undefined) return stepWith(state, lane, head, now, pass);
  const until = pacedUntil(lane, now);
  if (until === undefined) rest(state, lane);
  else delay(state, lane, until, 'min_interval', now);
  return false;
}

/** As {@link step}, with a head. */
function stepWith(state: CoreState, lane: Lane, head: Entry, now: number, pass: boolean): boolean {
  if (head instanceof Item && head.waits?.dependencyFailed === true) {
    failHead(state, head, now);
    return true;
  }
  const held = delayOf(lane, head, now);
  if (held !== undefined) {
    delay(state, lane, held.until, held.because, now);
    return false;
  }
  // An item never starts by itself: a worker has to ask for it, and the gates are looked at then.
  if (!(head instanceof Caller)) {
    makeReady(state, lane, 'worker', now);
    return false;
  }
  if (leaves(state, head, now)) return true;
  if (closedGate(state, lane.queue, now) !== undefined || (!pass && hasGateLine(lane.queue))) {
    makeReady(state, lane, 'gate', now);
    return false;
  }
  const refusal = lacksTurn(state, head.account);
  if (refusal !== undefined) {
    refuseHead(state, head, refusal, now);
    return true;
  }
  giveTurn(state, lane, head, now);
  return false;
}

/**
 * S658: its principal holds as many turns as it may. It leaves, also where it is absent. A place that is kept until the principal
 * has room would hold up the key for all others.
 */
function refuseHead(state: CoreState, head: Caller, refusal: Refusal, now: number): void {
  const { lane, asker } = head;
  if (state.watching) emitLeaving(state, head, 'refused', now);
  takeOut(state, head);
  if (asker !== undefined) refuseLimit(state, lane, asker, refusal);
}

interface DelayUntil {
  /** Whole ms; unset: nobody knows. */
  readonly until: number | undefined;
  readonly because: Delay['because'];
}

/**
 * What keeps anybody from starting, whatever gates and workers there are: time, or what the head waits for. Of
 * `min_interval` and the head's own delay the later one counts. What the head waits for comes first: its end is not
 * known.
 *
 * @param head of the line of this lane, as it is or would be; unset: an empty line
 * @returns unset: nothing does
 */
export function delayOf(lane: Lane, head: Entry | undefined, now: number): DelayUntil | undefined {
  if (head instanceof Item && isHeldBack(head)) return UNTIL_DONE;
  let found: (DelayUntil & { readonly until: number }) | undefined;
  const paced = pacedUntil(lane, now);
  if (paced !== undefined) found = { until: paced, because: 'min_interval' };
  if (head === undefined || head instanceof Caller || isOver(head.notBefore, now)) return found;
  if (found !== undefined && found.until >= head.notBefore) return found;
  return { until: head.notBefore, because: head.attempts > 0 ? 'retry' : 'delay' };
}

const UNTIL_DONE: DelayUntil = Object.freeze({ until: undefined, because: 'dependency' });

/**
 * The head leaves the line without a turn: an absent caller whose ticket is over, though the wheel has not come to it
 * (S1), or a caller whose idempotency key was done meanwhile, who is answered ALREADY_DONE (S17).
 */
function leaves(state: CoreState, head: Caller, now: number): boolean {
  const { asker, lane } = head;
  if (asker === undefined && isOver(head.due, now)) {
    if (state.watching) emitLeaving(state, head, 'ticket_ended', now);
    takeOut(state, head);
    return true;
  }
  const done = recallKey(lane.queue, lane.key, head.idempotencyKey, now);
  if (done === undefined) return false;
  if (state.watching) emitLeaving(state, head, 'already_done', now);
  takeOut(state, head);
  if (asker !== undefined) answerDecline(state, lane, asker, { reason: 'already_done', result: done.result });
  return true;
}

/**
 * A caller that is absent gets its turn as well: it is held until its ticket ends (S12). Preconditions: of `startTurn`.
 */
function giveTurn(state: CoreState, lane: Lane, head: Caller, now: number): void {
  const { asker, idempotencyKey } = head;
  const heldUntil = asker === undefined ? head.due : undefined;
  takeOut(state, head);
  const assignment = callerAssignment(idempotencyKey);
  const turn = startTurn(state, lane, assignment, head, asker?.stream, now, heldUntil);
  if (asker !== undefined) answerTurn(state, asker, turn, now);
}
