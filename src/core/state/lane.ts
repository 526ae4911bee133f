import type { LaneState } from '../contract/model.js';
import { after, isOver } from '../structures/due.js';
import { type CountedState, STATES } from './lane-states.js';
import type { Park } from './phases.js';
import type { Lane, Turn } from './records.js';

/** When the `min_interval` of the key ends; unset: it runs for none, or is over. */
export function pacedUntil({ startedAt, queue }: Lane, now: number): number | undefined {
  if (startedAt === undefined) return undefined;
  const until = after(startedAt, queue.policy.minInterval);
  return isOver(until, now) ? undefined : until;
}

/** No key, no order, no exclusion. Asked of its length, because that takes no call: this is asked on the hot path. */
export function isKeyless(key: string): boolean {
  return key.length === 0;
}

/** A keyless lane is known by the order of submission of its item: it is put where no arrivals are counted. */
export function nameKeyless(lane: Lane, { seq }: { readonly seq: number }): void {
  if (lane.key === '') lane.lastArrival = seq;
}

/** Which of the keyless lanes, by the `seq` of its item; unset: it has a key. Rows name the lane by it. */
export function keylessName(lane: Lane): number | undefined {
  return lane.key === '' ? lane.lastArrival : undefined;
}

/** The state as SPEC names it (section 2): a held lane is PROCESS without a line, BLOCK with one. */
function countedStateOf(lane: Lane): CountedState {
  switch (lane.phase.at) {
    case 'HELD':
      return lane.line === undefined ? STATES.PROCESS : STATES.BLOCK;
    case 'INIT':
      return STATES.INIT;
    case 'READY':
      return STATES.READY;
    case 'DELAY':
      return STATES.DELAY;
    case 'PARK':
      return STATES.PARK;
  }
}

/** As clients and lists name it. */
export function stateOf(lane: Lane): LaneState {
  return countedStateOf(lane).state;
}

/** Why the key is stopped, or will be when its turn ends; unset: it is not. */
export function parkOf({ phase }: Lane): Park | undefined {
  if (phase.at === 'PARK') return phase;
  return phase.at === 'HELD' ? phase.parked : undefined;
}

/** The live turn; it may be over by the clock (S1), which is not looked at here. */
export function turnOf(lane: Lane): Turn | undefined {
  return lane.phase.at === 'HELD' ? lane.phase : undefined;
}
