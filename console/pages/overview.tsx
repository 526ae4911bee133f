/** The start page: what is stuck, and all queues. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useAsked } from '../live/asked.js';
import { replace } from '../live/place.js';
import { looked, lookFailed, lookForStuck, startupHold, stuck } from '../live/stuck.js';
import { Missing, Part, Scroll, Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Count, KeyLink, QueueLink, Until } from '../parts/small.js';
import { Histories, Spark } from '../parts/spark.js';
import { ask } from '../wire/client.js';
import { hrefOf } from '../words/route.js';
import { counted, lengthOf, msOf } from '../words/times.js';
import { countOf, type Trouble } from '../words/trouble.js';

const EVERY_MS = 2_000;
const PAGE = 50;
/** Of the queues that are stuck so many show keys. */
const WITH_KEYS = 12;
const KEYS_SHOWN = 3;

export function Overview({ words }: { readonly words: URLSearchParams }) {
  useEffect(() => lookForStuck(), []);
  return (
    <>
      <Heading title="Overview">Overview</Heading>
      {startupHold.value !== undefined && (
        <p class="note">
          No queue gives a turn yet, because the sidecar was just started. They do from{' '}
          <Until moment={startupHold.value} />.
        </p>
      )}
      <Stuck />
      <Queues filter={words.get('filter') ?? ''} />
    </>
  );
}

function Stuck() {
  const { queues, isAll } = looked.value;
  const found = stuck.value;
  const progress = isAll ? counted(queues, 'queue') : `${counted(queues, 'queue')} so far…`;
  return (
    <Part title="What is stuck" aside={<span class="faint">{progress}</span>}>
      {lookFailed.value !== undefined && <p class="wrong">{lookFailed.value}</p>}
      {found.length === 0 ? (
        <p class="faint">
          {isAll ? 'Nothing: no key is parked, no queue is paused, nobody waits for long.' : 'Looking…'}
        </p>
      ) : (
        <table>
          <caption class="unseen">Queues that are stuck, the worst first</caption>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col">What</th>
              <th scope="col">Keys, longest first: open one to see why it does not move</th>
            </tr>
          </thead>
          <tbody>
            {found.map((trouble, at) => (
              <tr key={trouble.queue}>
                <th scope="row">
                  <QueueLink queue={trouble.queue} />
                </th>
                <td>{trouble.what.join(' · ')}</td>
                <td>{at < WITH_KEYS ? <StuckKeys trouble={trouble} /> : <QueueLink queue={trouble.queue} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Part>
  );
}

function StuckKeys({ trouble }: { readonly trouble: Trouble }) {
  const { queue, parked, waits, dead } = trouble;
  const asked = useAsked([queue, parked > 0, waits], 5 * EVERY_MS, async (signal) => {
    if (parked === 0 && !waits) return [];
    const state = parked > 0 ? 'LANE_STATE_PARK' : 'LANE_STATE_UNSPECIFIED';
    const { keys = [] } = await ask('ListKeys', { queue, state, pageSize: KEYS_SHOWN }, signal);
    return keys;
  });
  return (
    <Told asked={asked}>
      {(keys) => (
        <ul class="inline">
          {keys.map(({ key }) => (
            <li key={key}>
              <KeyLink queue={queue} keyName={key} />
            </li>
          ))}
          {dead > 0 && (
            <li>
              <a href={hrefOf('dead-letters', { queue })}>dead letters</a>
            </li>
          )}
        </ul>
      )}
    </Told>
  );
}

function Queues({ filter }: { readonly filter: string }) {
  const contains = useSignal(filter);
  /** Tokens of the pages before the one that is shown. */
  const way = useSignal<readonly string[]>([]);
  const pageToken = way.value.at(-1) ?? '';
  const histories = useMemo(() => new Histories(), [contains.value, pageToken]);
  const asked = useAsked([contains.value, pageToken], EVERY_MS, async (signal) => {
    const page = await ask(
      'ListQueues',
      { nameContains: contains.value, pageSize: PAGE, pageToken, withoutPolicy: true },
      signal,
    );
    histories.add(new Map((page.queues ?? []).map(({ name = '', waiting = 0 }) => [name, waiting])));
    return page;
  });
  return (
    <Part
      title="Queues"
      aside={
        <label>
          Name contains{' '}
          <input
            type="search"
            value={contains.value}
            maxLength={128}
            onInput={(event) => {
              contains.value = event.currentTarget.value;
              way.value = [];
              replace(hrefOf('overview', { filter: contains.value === '' ? undefined : contains.value }));
            }}
          />
        </label>
      }
    >
      <Told asked={asked}>
        {({ queues = [], nextPageToken = '', unavailable }) => (
          <>
            <Missing of={unavailable} />
            {queues.length === 0 && (
              <p class="faint">No queue{contains.value === '' ? ' yet' : ' has that in its name'}.</p>
            )}
            {queues.length > 0 && (
              <Scroll label="Table of queues">
                <table>
                  <caption class="unseen">Queues by name</caption>
                  <thead>
                    <tr>
                      <th scope="col">Queue</th>
                      <th scope="col" class="number">
                        Waiting
                      </th>
                      <th scope="col" class="narrow-out">
                        While you look
                      </th>
                      <th scope="col" class="number">
                        Turns
                      </th>
                      <th scope="col" class="number">
                        Oldest waits
                      </th>
                      <th scope="col" class="number">
                        PARK
                      </th>
                      <th scope="col" class="number">
                        Dead letters
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {queues.map((queue) => (
                      <tr key={queue.name}>
                        <th scope="row">
                          <QueueLink queue={queue.name ?? ''} />{' '}
                          {queue.paused === true && <span class="tag">‖ paused</span>}
                        </th>
                        <td class="number">
                          <Count of={queue.waiting} />
                        </td>
                        <td class="narrow-out">
                          <Spark of={histories.of(queue.name ?? '')} />
                        </td>
                        <td class="number">
                          <Count of={queue.liveTurns} />
                        </td>
                        <td class="number">
                          {queue.oldestWaiting === undefined ? '–' : lengthOf(msOf(queue.oldestWaiting) ?? 0)}
                        </td>
                        <td class="number">
                          <Count of={countOf(queue, 'LANE_STATE_PARK')} />
                        </td>
                        <td class="number">
                          <Count of={queue.deadLetters} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )}
            <Pager
              isFirst={way.value.length === 0}
              isLast={nextPageToken === ''}
              back={() => {
                way.value = way.value.slice(0, -1);
              }}
              next={() => {
                way.value = [...way.value, nextPageToken];
              }}
            />
          </>
        )}
      </Told>
    </Part>
  );
}

interface PagerProps {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly back: () => void;
  readonly next: () => void;
}

function Pager({ isFirst, isLast, back, next }: PagerProps) {
  if (isFirst && isLast) return null;
  return (
    <div class="buttons">
      <button type="button" disabled={isFirst} onClick={back}>
        ← Before
      </button>
      <button type="button" disabled={isLast} onClick={next}>
        After →
      </button>
    </div>
  );
}
