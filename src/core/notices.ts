/** What a stream is told, unasked, of the turns that were given on it. */
import { turnView } from './answers.js';
import type { Turn } from './lane.js';
import type { LossCause, Notice } from './model.js';
import { Session, type Stream } from './session.js';
import type { CoreState } from './state.js';
import { Timer } from './timing-wheel.js';

/**
 * Fires when something is to be told of a turn whose end comes nearer. Made only for turns that have such a moment, so
 * that others pay nothing: those that no stream was given, and tied ones without `max_hold`, have none. Of a tied turn
 * it is also what ends it at `max_hold`: its lane is not on the wheel.
 */
export class TurnWatch extends Timer {
  /** That `max_hold` nears is told once. */
  holdTold = false;
  constructor(readonly turn: Turn) {
    super();
  }
}

/** Who is told of this turn. */
export function streamOf(turn: Turn): Stream | undefined {
  return turn.owner instanceof Session ? turn.owner.stream : turn.owner;
}

/** @param by the stream that settled it: it knows */
export function tellLost(state: CoreState, turn: Turn, cause: LossCause, by: Stream | undefined): void {
  if (cause === 'settled' && by !== undefined && streamOf(turn) === by) return;
  tellStream(state, turn, { kind: 'turn_lost', turn: turnView(state, turn), cause });
}

export function tellEnding(state: CoreState, turn: Turn): void {
  tellStream(state, turn, { kind: 'turn_ending', turn: turnView(state, turn) });
}

function tellStream(state: CoreState, turn: Turn, notice: Notice): void {
  const listener = streamOf(turn)?.listener;
  if (listener !== undefined) state.effects.push({ kind: 'notice', to: listener, notice });
}

/** The moment at which a third of its life is left, of a life that ends at `end`. */
function lastThird(end: number, life: number): number {
  return Math.ceil(end - life / 3);
}

/**
 * A period of the turn's life begins: its lane is on the wheel with this lease, or it is tied. Told is whichever will
 * end it: a lease in each period, `max_hold` once.
 */
export function watchPeriod(state: CoreState, turn: Turn, lease: number): void {
  const { owner, lane, latestEnd } = turn;
  const leaseEnds = !(owner instanceof Session) && lane.due !== latestEnd;
  arm(state, turn, leaseEnds ? lastThird(lane.due, lease) : Number.POSITIVE_INFINITY);
}

/** It was told: the same lease is told no more. */
export function watchOn(state: CoreState, turn: Turn, now: number): void {
  const { watch, latestEnd } = turn;
  if (watch !== undefined && latestEnd !== undefined && now >= holdNears(turn, latestEnd)) watch.holdTold = true;
  arm(state, turn, Number.POSITIVE_INFINITY);
}

function arm(state: CoreState, turn: Turn, leaseNears: number): void {
  const { owner, latestEnd, lane } = turn;
  const tied = owner instanceof Session;
  let next = leaseNears;
  if (latestEnd !== undefined) {
    if (turn.watch?.holdTold !== true) next = Math.min(next, holdNears(turn, latestEnd));
    else if (tied) next = latestEnd;
  }
  // What comes no sooner than the end of the lease comes never, unless somebody renews it: then this is asked again.
  if (next < (tied ? Number.POSITIVE_INFINITY : lane.due)) {
    turn.watch ??= new TurnWatch(turn);
    state.wheel.schedule(turn.watch, next);
  } else if (turn.watch !== undefined) state.wheel.cancel(turn.watch);
}

function holdNears(turn: Turn, latestEnd: number): number {
  return lastThird(latestEnd, turn.lane.queue.policy.maxHold ?? 0);
}

/** Nothing is to be told of this turn any more. */
export function unwatch(state: CoreState, turn: Turn): void {
  const { watch } = turn;
  if (watch === undefined) return;
  watch.holdTold = false;
  state.wheel.cancel(watch);
}
