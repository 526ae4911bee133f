/** The lanes of a queue as a picture: how many keys are in which state. The table beside it says the same. */
import type { LaneState, StateCount } from '../gen/keyturn/v1/admin.js';
import type { Json } from '../wire/client.js';
import { STATES } from '../words/states.js';
import { counted } from '../words/times.js';
import { Count, State } from './small.js';

interface LanesProps {
  readonly states: readonly Json<StateCount>[];
  readonly chosen: LaneState;
  readonly choose: (state: LaneState) => void;
}

export function Lanes({ states, chosen, choose }: LanesProps) {
  const counts = new Map(states.map(({ state, count }) => [state, count ?? 0]));
  const there = STATES.filter(({ state }) => state !== 'LANE_STATE_INIT');
  const all = there.reduce((sum, { state }) => sum + (counts.get(state) ?? 0), 0);
  return (
    <div class="lanes">
      <div class="lanes-picture" role="img" aria-label={sentenceOf(counts, all)}>
        {there.map(({ state, word, sign }) => {
          const count = counts.get(state) ?? 0;
          return (
            <div class={`lane lane-${word.toLowerCase()}`} key={state}>
              <span class="lane-name">
                {sign} {word}
              </span>
              <span class="lane-track">
                <span class="lane-fill" style={{ width: share(count, all) }} />
              </span>
            </div>
          );
        })}
      </div>
      <table class="compact">
        <caption class="unseen">Keys by state</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Keys
            </th>
            <th scope="col">
              <span class="unseen">Show</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {there.map(({ state, meaning, word }) => (
            <tr key={state}>
              <td>
                <State of={state} /> <span class="faint wide">{meaning}</span>
              </td>
              <td class="number">
                <Count of={counts.get(state)} />
              </td>
              <td>
                <button
                  type="button"
                  class="link"
                  aria-pressed={chosen === state}
                  aria-label={`Show keys in ${word}`}
                  onClick={() => choose(chosen === state ? 'LANE_STATE_UNSPECIFIED' : state)}
                >
                  {chosen === state ? 'Show all' : 'Show'}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One key among a million is still to be seen. */
function share(count: number, all: number): string {
  return count === 0 ? '0' : `max(6px, ${(100 * count) / Math.max(1, all)}%)`;
}

function sentenceOf(counts: ReadonlyMap<LaneState | undefined, number>, all: number): string {
  const parts = STATES.flatMap(({ state, word }) => {
    const count = counts.get(state) ?? 0;
    return count === 0 || state === 'LANE_STATE_INIT' ? [] : [`${count} ${word}`];
  });
  return all === 0 ? 'No key has anything to do.' : `${counted(all, 'key')} with something to do: ${parts.join(', ')}.`;
}
