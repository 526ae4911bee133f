/** What a lane without a holder does next. */

import { isKeyDone } from '../items/idempotency.js';
import { isHeldBack } from '../state/dependencies.js';
import { emitLeaving } from '../state/events.js';
import { markDirty } from '../state/marks.js';
import { takeOut } from '../state/places.js';
import { Caller, type Delay, type Entry, INIT, Item, type Lane, PLAIN_CALLER, type Ready } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { append, isLinked, unlink } from '../structures/link.js';
import { answerDecline, answerTurn } from './answers.js';
import { failHead } from './fail-head.js';
import { closedGate, hasGateLine } from './gates.js';
import { syncLane } from './sync-lane.js';
import { startTurn } from './turns.js';

/**
 * Decides the lane's next phase from its line, its delays and the gates; gives the turn to its head if that is a
 * caller who may start. A lane that is held or parked stays as it is. A lane that stays READY keeps its place among
 * the ready ones.
 *
 * @param pass the lane's turn at the gate has come: it need not line up there
 */
export function resolve(state: CoreState, lane: Lane, now: number, pass = false): void {
  while (step(state, lane, now, pass));
  syncLane(state, lane);
}

/** @returns whether the head left and the next one has to be looked at */
function step(state: CoreState, lane: Lane, now: number, pass: boolean): boolean {
  if (lane.phase.at === 'HELD' || lane.phase.at === 'PARK') return false;
  const head = lane.line?.head;
  if (head instanceof Item && head.waits?.dependencyFailed === true) {
    failHead(state, head, now);
    return true;
  }
  const delay = delayOf(lane, head, now);
  if (delay !== undefined) {
    toDelay(state, lane, delay.until, delay.because, now);
    return false;
  }
  if (head === undefined) {
    toInit(lane);
    return false;
  }
  if (!(head instanceof Caller)) {
    toReady(state, lane, 'worker', now);
    return false;
  }
  if (leaves(state, head, now)) return true;
  if (closedGate(state, lane.queue, now) !== undefined || (!pass && hasGateLine(lane.queue))) {
    toReady(state, lane, 'gate', now);
    return false;
  }
  giveTurn(state, lane, head, now);
  return false;
}

interface DelayUntil {
  /** Whole ms; unset: nobody knows. */
  readonly until: number | undefined;
  readonly because: Delay['because'];
}

/** What keeps anybody from starting, whatever gates and workers there are: time, or what the head waits for. */
export function delayOf(lane: Lane, head: Entry | undefined, now: number): DelayUntil | undefined {
  if (head instanceof Item && isHeldBack(head)) return UNTIL_DONE;
  let found: (DelayUntil & { readonly until: number }) | undefined;
  if (lane.startedAt !== undefined) {
    const until = Math.ceil(lane.startedAt + lane.queue.policy.minInterval);
    if (now < until) found = { until, because: 'min_interval' };
  }
  if (head === undefined || head instanceof Caller || now >= head.notBefore) return found;
  if (found !== undefined && found.until >= head.notBefore) return found;
  return { until: head.notBefore, because: head.attempts > 0 ? 'retry' : 'delay' };
}

const UNTIL_DONE: DelayUntil = Object.freeze({ until: undefined, because: 'dependency' });

/** The head is an absent caller whose ticket is over, or one whose idempotency key was done meanwhile. */
function leaves(state: CoreState, head: Caller, now: number): boolean {
  const { asker, lane } = head;
  if (asker === undefined && now >= head.due) {
    if (state.watching) emitLeaving(state, head, 'ticket_ended', now);
    takeOut(state, head);
    return true;
  }
  const done = isKeyDone(lane.queue, lane.key, head.idempotencyKey, now);
  if (done === undefined) return false;
  if (state.watching) emitLeaving(state, head, 'already_done', now);
  takeOut(state, head);
  if (asker !== undefined) answerDecline(state, lane, asker, { reason: 'already_done', result: done.result });
  return true;
}

function giveTurn(state: CoreState, lane: Lane, head: Caller, now: number): void {
  const { asker, idempotencyKey } = head;
  const heldUntil = asker === undefined ? head.due : undefined;
  takeOut(state, head);
  const assignment = idempotencyKey === undefined ? PLAIN_CALLER : ({ kind: 'caller', idempotencyKey } as const);
  const turn = startTurn(state, lane, assignment, head, asker?.stream, now, heldUntil);
  if (asker !== undefined) answerTurn(state, asker, turn, now);
}

function toInit(lane: Lane): void {
  // An idle lane is linked too: it stays where it is.
  if (lane.rests === undefined && isLinked(lane)) unlink(lane);
  lane.phase = INIT;
}

function toDelay(
  state: CoreState,
  lane: Lane,
  until: number | undefined,
  because: Delay['because'],
  now: number,
): void {
  const { phase } = lane;
  const due = until ?? Number.POSITIVE_INFINITY;
  // What is already on the wheel for that moment keeps its place among those of the same moment.
  if (phase.at === 'DELAY' && phase.because === because && lane.due === due) return;
  if (phase.at !== 'DELAY') lane.phase = { at: 'DELAY', since: now, because };
  else if (phase.because !== because) lane.phase = { ...phase, because };
  state.idle.delete(lane);
  if (until !== undefined) return state.wheel.schedule(lane, until);
  state.wheel.cancel(lane);
  lane.due = due;
}

function toReady(state: CoreState, lane: Lane, waitsFor: Ready['waitsFor'], now: number): void {
  const { queue } = lane;
  if (waitsFor === 'gate' || queue.waiters.size > 0) markDirty(state, queue);
  if (lane.phase.at === 'READY' && lane.phase.waitsFor === waitsFor) return;
  state.idle.delete(lane);
  if (isLinked(lane)) unlink(lane);
  state.readyOrder += 1;
  const since = lane.phase.at === 'READY' ? lane.phase.since : now;
  lane.phase = { at: 'READY', since, order: state.readyOrder, waitsFor };
  append(waitsFor === 'gate' ? queue.gatedLanes : queue.readyLanes, lane);
}
