import { LANE_STATES, type LaneState } from '../contract/model.js';

/** A state as lanes refer to it, with its place where lanes are counted by state. */
export interface CountedState {
  readonly state: LaneState;
  readonly index: number;
  /** A turn lives, or somebody waits or is kept back: all but INIT. */
  readonly isBusy: boolean;
}

function counted(state: LaneState): CountedState {
  return Object.freeze({ state, index: LANE_STATES.indexOf(state), isBusy: state !== 'INIT' });
}

/** One frozen object for each state, so that states are compared by identity. */
export const STATES = Object.freeze({
  INIT: counted('INIT'),
  PROCESS: counted('PROCESS'),
  BLOCK: counted('BLOCK'),
  READY: counted('READY'),
  DELAY: counted('DELAY'),
  PARK: counted('PARK'),
}) satisfies Readonly<Record<LaneState, CountedState>>;
