/** What happens, as it happens: the newest of it, with how much was missed. */
import { useSignal } from '@preact/signals';
import { type Told as ToldEvent, useEvents } from '../live/events.js';
import { go } from '../live/place.js';
import { LongList } from '../parts/long-list.js';
import { Part } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Age, KeyLink, QueueLink, Text } from '../parts/small.js';
import { eventWords } from '../words/events.js';
import { hrefOf } from '../words/route.js';
import { counted } from '../words/times.js';

const KEPT = 1_000;

interface Row {
  readonly number: number;
  readonly event: ToldEvent;
}

export function Events({ words }: { readonly words: URLSearchParams }) {
  const queue = words.get('queue') ?? '';
  const rows = useSignal<readonly Row[]>([]);
  const seen = useSignal(0);
  const missed = useSignal(0);
  const isHeld = useSignal(false);
  const chosen = useSignal(queue);
  useEvents(
    [queue, isHeld.value],
    isHeld.value
      ? undefined
      : {
          ...(queue === '' ? {} : { queue }),
          take(events, lost) {
            const first = seen.value;
            seen.value += events.length;
            missed.value += lost;
            const fresh = events
              .slice(-KEPT)
              .map((event, at) => ({ number: first + Math.max(0, events.length - KEPT) + at, event }));
            rows.value = [...fresh.reverse(), ...rows.value].slice(0, KEPT);
          },
        },
  );
  return (
    <>
      <Heading title="Events">Events</Heading>
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          go(hrefOf('events', { queue: chosen.value === '' ? undefined : chosen.value.trim() }));
        }}
      >
        <label>
          Only queue{' '}
          <input
            type="text"
            maxLength={128}
            value={chosen.value}
            onInput={(event) => {
              chosen.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Show</button>
        <button
          type="button"
          aria-pressed={isHeld.value}
          onClick={() => {
            isHeld.value = !isHeld.value;
          }}
        >
          {isHeld.value ? 'Go on' : 'Hold'}
        </button>
      </form>
      <Part
        title="Newest first"
        aside={
          <span class={missed.value > 0 ? 'tag' : 'faint'}>
            {counted(seen.value, 'event')}, {missed.value.toLocaleString('en')} missed{isHeld.value && ', held'}
          </span>
        }
      >
        {rows.value.length === 0 ? (
          <p class="faint">Nothing happened since you opened this page.</p>
        ) : (
          <LongList
            label="Events, newest first"
            rows={rows.value}
            idOf={({ number }) => String(number)}
            columns={[
              { title: 'Ago', width: '5.5rem', cell: ({ event }: Row) => <Age since={event.at} />, isNumber: true },
              { title: 'What', width: '10rem', cell: ({ event }) => eventWords(event.kind).word },
              {
                title: 'Queue',
                width: 'minmax(6rem, 1fr)',
                cell: ({ event }) => <QueueLink queue={event.queue ?? ''} />,
              },
              {
                title: 'Key',
                width: 'minmax(7rem, 2fr)',
                cell: ({ event }) => <KeyLink queue={event.queue ?? ''} keyName={event.key} />,
              },
              { title: 'Who', width: 'minmax(6rem, 1fr)', cell: ({ event }) => <Text of={event.consumerId} /> },
              { title: 'More', width: 'minmax(6rem, 2fr)', cell: ({ event }) => <Text of={event.detail} /> },
            ]}
          />
        )}
      </Part>
    </>
  );
}
