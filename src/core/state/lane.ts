import type { LaneState } from '../contract/model.js';
import type { Lane, Park, Turn } from './records.js';
import { ROWS, type StateRow } from './table.js';

/** No key, no order, no exclusion. Asked of its length, because that takes no call: this is asked on the hot path. */
export function isKeyless(key: string): boolean {
  return key.length === 0;
}

/** A keyless lane is known by the order of submission of its item: it is put where no arrivals are counted. */
export function nameKeyless(lane: Lane, { seq }: { readonly seq: number }): void {
  if (lane.key === '') lane.lastArrival = seq;
}

/** Which of the keyless lanes; unset: it has a key. */
export function keylessName(lane: Lane): number | undefined {
  return lane.key === '' ? lane.lastArrival : undefined;
}

export function rowOf(lane: Lane): StateRow {
  switch (lane.phase.at) {
    case 'HELD':
      return lane.line === undefined ? ROWS.PROCESS : ROWS.BLOCK;
    case 'INIT':
      return ROWS.INIT;
    case 'READY':
      return ROWS.READY;
    case 'DELAY':
      return ROWS.DELAY;
    case 'PARK':
      return ROWS.PARK;
  }
}

export function stateOf(lane: Lane): LaneState {
  return rowOf(lane).state;
}

/** Why the key is stopped, or will be when its turn ends; unset: it is not. */
export function parkOf({ phase }: Lane): Park | undefined {
  if (phase.at === 'PARK') return phase;
  return phase.at === 'HELD' ? phase.parked : undefined;
}

export function turnOf(lane: Lane): Turn | undefined {
  return lane.phase.at === 'HELD' ? lane.phase : undefined;
}
