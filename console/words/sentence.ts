/** Why a key does not move, as one plain sentence. The sidecar says the cause; here it becomes a sentence. */
import { stateWords } from './states.js';

/** @param why of ExplainKey; empty: nothing holds the key */
export function sentenceOf(state: string | undefined, why: string | undefined): string {
  if (why === undefined || why === '') {
    const { state: known } = stateWords(state);
    return known === 'LANE_STATE_INIT'
      ? 'Nothing is wrong: nobody works on it, and nobody waits.'
      : 'Nothing holds it: it moves.';
  }
  return /[.!?]$/.test(why) ? capital(why) : `${capital(why)}.`;
}

/** But of a name, which is written as it is. */
function capital(text: string): string {
  return STARTS.some((start) => text.startsWith(start)) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
}

const STARTS = [
  'the ',
  'parked',
  'a worker',
  'as many',
  'others',
  'no worker',
  'startup_hold keeps',
  'min_interval has',
];
