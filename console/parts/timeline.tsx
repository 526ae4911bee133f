/** What happened to a key, as a line of time, and as a list. */
import type { Told } from '../live/events.js';
import { now } from '../live/tab.js';
import { eventWords } from '../words/events.js';
import { ageOf, momentOf } from '../words/times.js';
import { Age, Text } from './small.js';

const WIDTH = 800;
const ROWS = ['arrivals', 'turns', 'ends', 'trouble'] as const;
const ROW_PX = 22;

export function Timeline({ of, since }: { readonly of: readonly Told[]; readonly since: number }) {
  const begin = Math.min(since, ...of.flatMap(({ at }) => momentOf(at) ?? []));
  const length = Math.max(10_000, now.value - begin);
  const xOf = (moment: number): number => 70 + ((moment - begin) / length) * (WIDTH - 80);
  return (
    <svg
      class="timeline"
      viewBox={`0 0 ${WIDTH} ${ROWS.length * ROW_PX + 18}`}
      role="img"
      aria-label={`What happened in the last ${ageOf(length)}: the list below has it in words.`}
    >
      {ROWS.map((row, at) => (
        <g key={row}>
          <text x="0" y={at * ROW_PX + 15}>
            {row}
          </text>
          <line x1="70" x2={WIDTH - 10} y1={at * ROW_PX + 11} y2={at * ROW_PX + 11} />
        </g>
      ))}
      {of.map((event, at) => {
        const { row, word } = eventWords(event.kind);
        const y = ROWS.indexOf(row) * ROW_PX + 11;
        const x = xOf(momentOf(event.at) ?? begin);
        return row === 'trouble' ? (
          <path key={at} class="dot dot-trouble" d={`M${x} ${y - 6}l6 11h-12z`}>
            <title>{word}</title>
          </path>
        ) : (
          <circle key={at} class={`dot dot-${row}`} cx={x} cy={y} r="5">
            <title>{word}</title>
          </circle>
        );
      })}
      <text x="70" y={ROWS.length * ROW_PX + 14}>
        {ageOf(length)} ago
      </text>
      <text x={WIDTH - 10} y={ROWS.length * ROW_PX + 14} class="end">
        now
      </text>
    </svg>
  );
}

export function EventList({ of }: { readonly of: readonly Told[] }) {
  return (
    <table class="compact">
      <caption class="unseen">What happened, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Ago</th>
          <th scope="col">What</th>
          <th scope="col">Who</th>
          <th scope="col">More</th>
        </tr>
      </thead>
      <tbody>
        {of.toReversed().map((event, at) => (
          <tr key={of.length - at}>
            <td>
              <Age since={event.at} />
            </td>
            <td>{eventWords(event.kind).word}</td>
            <td>
              <Text of={event.consumerId} />
            </td>
            <td>
              <Text of={event.detail} /> <Text of={event.itemId} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
