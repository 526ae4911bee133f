/** The states of keys: their words, a sign of a shape of its own for each, and what they mean. */
import type { LaneState } from '../gen/keyturn/v1/admin.js';

interface StateWords {
  readonly state: LaneState;
  readonly word: string;
  /** Told apart without colours. */
  readonly sign: string;
  readonly meaning: string;
}

const WORDS: Readonly<Record<Exclude<LaneState, 'LANE_STATE_UNSPECIFIED'>, readonly [sign: string, meaning: string]>> =
  {
    LANE_STATE_PARK: ['■', 'stopped after a dead letter'],
    LANE_STATE_DELAY: ['◷', 'may not start yet'],
    LANE_STATE_READY: ['◇', 'could start: waits for a worker or a gate'],
    LANE_STATE_BLOCK: ['▶', 'somebody works on it, others wait'],
    LANE_STATE_PROCESS: ['▷', 'somebody works on it, nobody waits'],
    LANE_STATE_INIT: ['○', 'nothing to do'],
  };

/** In the order in which somebody who is woken wants to see them. */
export const STATES: readonly StateWords[] = [
  'LANE_STATE_PARK',
  'LANE_STATE_DELAY',
  'LANE_STATE_READY',
  'LANE_STATE_BLOCK',
  'LANE_STATE_PROCESS',
  'LANE_STATE_INIT',
].map((state) => stateWords(isState(state) ? state : undefined));

function isState(state: string): state is keyof typeof WORDS {
  return state in WORDS;
}

/** Of a state that is unset, or of a later version, nothing is claimed. */
export function stateWords(state: string | undefined): StateWords {
  if (state === undefined || !isState(state))
    return { state: 'LANE_STATE_UNSPECIFIED', word: '?', sign: '?', meaning: 'not known' };
  const [sign, meaning] = WORDS[state];
  return { state, word: state.slice('LANE_STATE_'.length), sign, meaning };
}
