/**
 * What a stream is told, unasked, of the turns that were given on it: that a turn is lost, and that it is about to end
 * (S40). A turn without an owner, and one of a session whose stream is broken, gets no notices.
 *
 * The timer of a turn's watch is armed for the next of its moments: a third of the lease left, a third of `max_hold`
 * left, and for a tied turn the end of `max_hold` itself.
 */

import type { LossCause } from '../contract/model.js';
import type { Notice } from '../contract/notices.js';
import { Session, type Stream, type Turn, TurnWatch } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isOver, wholeMs } from '../structures/due.js';
import { turnView } from './answers.js';

/** The stream that gets the notices about this turn; unset: none. */
function streamOf(turn: Turn): Stream | undefined {
  return turn.owner instanceof Session ? turn.owner.stream : turn.owner;
}

/**
 * TURN_LOST, for every end that the stream did not bring about. Precondition: the turn still has its owner.
 *
 * @param by the stream that settled it: it has the answer to its call, and gets no notice
 */
export function notifyLost(state: CoreState, turn: Turn, cause: LossCause, by: Stream | undefined, now: number): void {
  if (cause === 'settled' && by !== undefined && streamOf(turn) === by) return;
  tellStream(state, turn, { kind: 'turn_lost', turn: turnView(state, turn, now), cause });
}

/** TURN_ENDING: at most a third is left of the lease, or of `max_hold`. */
export function notifyEnding(state: CoreState, turn: Turn, now: number): void {
  tellStream(state, turn, { kind: 'turn_ending', turn: turnView(state, turn, now) });
}

function tellStream(state: CoreState, turn: Turn, notice: Notice): void {
  const listener = streamOf(turn)?.listener;
  if (listener !== undefined) state.effects.push({ kind: 'notice', to: listener, notice }, turn.lane.queue.tellsLate);
}

/** The moment at which a third of its life is left, of a life that ends at `end`. */
function lastThird(end: number, life: number): number {
  return wholeMs(end - life / 3);
}

/**
 * A period of the turn's life begins: its lane is on the wheel with this lease, or it is tied. Told is whichever will
 * end it: a lease in each period, `max_hold` once.
 */
export function watchPeriod(state: CoreState, turn: Turn, lease: number): void {
  const { owner, lane, latestEnd } = turn;
  const byLease = !(owner instanceof Session) && lane.due !== latestEnd;
  turn.watch ??= new TurnWatch(turn);
  turn.watch.leaseNears = byLease ? lastThird(lane.due, lease) : Number.POSITIVE_INFINITY;
  arm(state, turn.watch);
}

/**
 * Marks the notices that were due by `now` as sent, and arms the timer for the next moment. The lease is not told again
 * before `watchPeriod` begins a new period, `max_hold` not while the turn keeps its owner.
 */
export function watchOn(state: CoreState, watch: TurnWatch, now: number): void {
  const { turn, leaseNears } = watch;
  if (isOver(leaseNears, now)) watch.leaseNears = Number.POSITIVE_INFINITY;
  if (turn.latestEnd !== undefined && isOver(holdNears(turn, turn.latestEnd), now)) watch.holdTold = true;
  arm(state, watch);
}

function arm(state: CoreState, watch: TurnWatch): void {
  const next = nextMoment(watch);
  if (next === Number.POSITIVE_INFINITY) state.wheel.cancel(watch);
  else state.wheel.schedule(watch, next);
}

/** Whole ms; Infinity: nothing is left to be done. */
function nextMoment({ turn, leaseNears, holdTold }: TurnWatch): number {
  const { owner, latestEnd } = turn;
  if (latestEnd === undefined) return leaseNears;
  if (!holdTold) return Math.min(leaseNears, holdNears(turn, latestEnd));
  // The lane of a tied turn is not on the wheel: its watch has to end it.
  return owner instanceof Session ? latestEnd : leaseNears;
}

function holdNears(turn: Turn, latestEnd: number): number {
  return lastThird(latestEnd, turn.lane.queue.policy.maxHold ?? 0);
}

/**
 * Nothing is to be told of this turn any more. The watch stays with it, to be used again by the next turn of the lane.
 */
export function unwatch(state: CoreState, turn: Turn): void {
  const { watch } = turn;
  if (watch === undefined) return;
  watch.holdTold = false;
  state.wheel.cancel(watch);
}
