/** One queue: its lanes by state, its keys, its limits, and pausing it. */
import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { KeyInfo, LaneState, QueueInfo } from '../gen/keyturn/v1/admin.js';
import { type Asked, useAsked } from '../live/asked.js';
import { useEvents } from '../live/events.js';
import { replace } from '../live/place.js';
import { Act } from '../parts/act.js';
import { Chart, type Sample } from '../parts/chart.js';
import { Lanes } from '../parts/lanes.js';
import { LimitsAct } from '../parts/limits-act.js';
import { LongList } from '../parts/long-list.js';
import { Missing, Part, Told } from '../parts/part.js';
import { Policy } from '../parts/policy.js';
import { Heading } from '../parts/shell.js';
import { Age, Count, KeyLink, State, Text } from '../parts/small.js';
import { ask, type Json } from '../wire/client.js';
import { serverNow } from '../wire/clock.js';
import { hrefOf } from '../words/route.js';
import { STATES } from '../words/states.js';
import { counted, lengthOf, msOf } from '../words/times.js';

const EVERY_MS = 2_000;
const KEYS = 500;
const KEPT_SAMPLES = 900;

type Queue = Json<QueueInfo>;

/** The call finds by a part of the name; names that have it too are passed over. */
async function queueOf(name: string, signal?: AbortSignal): Promise<Queue | undefined> {
  let pageToken = '';
  do {
    const page = await ask('ListQueues', { nameContains: name, pageSize: 100, pageToken }, signal);
    const found = page.queues?.find((queue) => queue.name === name);
    if (found !== undefined) return found;
    pageToken = page.nextPageToken ?? '';
  } while (pageToken !== '');
  return undefined;
}

export function QueuePage({ words }: { readonly words: URLSearchParams }) {
  const name = words.get('name') ?? '';
  const samples = useMemo<Sample[]>(() => [], [name]);
  const happened = useRef(0);
  useEvents([name], {
    queue: name,
    take(events, missed) {
      happened.current += events.length + missed;
    },
  });
  const asked = useAsked([name], EVERY_MS, async (signal) => {
    const queue = await queueOf(name, signal);
    if (queue !== undefined) {
      const { waiting = 0, liveTurns = 0, deadLetters = 0 } = queue;
      const at = serverNow() / 1_000;
      const before = samples.at(-1);
      // Told or missed: each of them happened.
      const perSecond = before === undefined ? undefined : happened.current / Math.max(0.001, at - before.at);
      happened.current = 0;
      const oldest = (msOf(queue.oldestWaiting) ?? 0) / 1_000;
      samples.push({ at, waiting, liveTurns, deadLetters, perSecond, oldest });
      if (samples.length > KEPT_SAMPLES) samples.shift();
    }
    return { queue };
  });
  const state = useSignal<LaneState>(
    STATES.find(({ word }) => word === words.get('state'))?.state ?? 'LANE_STATE_UNSPECIFIED',
  );
  const queue = asked.data.value?.queue;
  return (
    <>
      <Heading title={`Queue ${name}`}>
        Queue <Text of={name} /> {queue?.paused === true && <span class="tag">‖ paused</span>}
      </Heading>
      <Told asked={asked}>
        {(told) =>
          told.queue === undefined ? (
            <p class="note">There is no queue of that name now. A queue appears when something is asked of it.</p>
          ) : (
            <>
              <Facts queue={told.queue} />
              <Acts queue={told.queue} asked={asked} />
              <Part title="Lanes by state">
                <Lanes
                  states={told.queue.states ?? []}
                  chosen={state.value}
                  choose={(next) => {
                    state.value = next;
                    const word = STATES.find((one) => one.state === next)?.word;
                    replace(hrefOf('queue', { name, state: word }));
                  }}
                />
              </Part>
              <Keys queue={name} state={state.value} />
              <Chart samples={samples} moved={told.queue} />
              <Policy of={told.queue.policy} />
            </>
          )
        }
      </Told>
    </>
  );
}

function Facts({ queue }: { readonly queue: Queue }) {
  return (
    <dl class="facts">
      <div>
        <dt>Waiting</dt>
        <dd>
          <Count of={queue.waiting} />
        </dd>
      </div>
      <div>
        <dt>Live turns</dt>
        <dd>
          <Count of={queue.liveTurns} />
        </dd>
      </div>
      <div>
        <dt>Oldest waits</dt>
        <dd>{queue.oldestWaiting === undefined ? 'nobody waits' : lengthOf(msOf(queue.oldestWaiting) ?? 0)}</dd>
      </div>
      <div>
        <dt>Dead letters</dt>
        <dd>
          <a href={hrefOf('dead-letters', { queue: queue.name })}>
            <Count of={queue.deadLetters} />
          </a>
        </dd>
      </div>
    </dl>
  );
}

function Acts({ queue, asked }: { readonly queue: Queue; readonly asked: Asked<unknown> }) {
  const { name = '', waiting = 0, liveTurns = 0 } = queue;
  const done = (): void => asked.refresh();
  return (
    <div class="buttons">
      {queue.paused === true ? (
        <Act
          key="resume"
          name="Resume queue"
          isFirst
          says={() => (
            <p>
              Queue {name} gives turns again. {counted(waiting, 'entry', 'entries')} wait in it.
            </p>
          )}
          does={async ({ reason }) => {
            await ask('ResumeQueue', { queue: name, reason });
            return `Queue ${name} goes on.`;
          }}
          done={done}
        />
      ) : (
        <Act
          key="pause"
          name="Pause queue"
          says={() => (
            <p>
              Queue {name} gives no turns until it is resumed: {counted(waiting, 'entry', 'entries')} that wait, and all
              that come, wait on. {counted(liveTurns, 'turn')} that live go on.
            </p>
          )}
          does={async ({ reason }) => {
            await ask('PauseQueue', { queue: name, reason });
            return `Queue ${name} is paused.`;
          }}
          done={done}
        />
      )}
      <LimitsAct queue={queue} done={done} />
    </div>
  );
}

function Keys({ queue, state }: { readonly queue: string; readonly state: LaneState }) {
  const asked = useAsked([queue, state], EVERY_MS, (signal) =>
    ask('ListKeys', { queue, state, pageSize: KEYS }, signal),
  );
  const word = STATES.find((one) => one.state === state)?.word;
  return (
    <Part
      title={
        word === undefined
          ? 'Keys with something to do, longest in their state first'
          : `Keys in ${word}, longest first`
      }
    >
      <Told asked={asked}>
        {({ keys = [], nextPageToken = '', unavailable }) => (
          <>
            <Missing of={unavailable} />
            {keys.length === 0 ? (
              <p class="faint">None.</p>
            ) : (
              <LongList
                label="Keys, longest in their state first"
                rows={keys}
                idOf={({ key = '' }, at) => (key === '' ? `#${at}` : `=${key}`)}
                columns={[
                  {
                    title: 'Key',
                    width: 'minmax(9rem, 3fr)',
                    cell: (row: Json<KeyInfo>) => <KeyLink queue={queue} keyName={row.key} />,
                  },
                  { title: 'State', width: '7rem', cell: (row) => <State of={row.state} /> },
                  { title: 'Since', width: '7rem', cell: (row) => <Age since={row.since} />, isNumber: true },
                  { title: 'Waiting', width: '5rem', cell: (row) => <Count of={row.waiting} />, isNumber: true },
                  { title: 'Held by', width: 'minmax(7rem, 2fr)', cell: (row) => <Text of={row.consumerId} /> },
                ]}
              />
            )}
            {nextPageToken !== '' && (
              <p class="faint">
                These are the first {keys.length}, those that are in their state for longest. Search for another one by
                its name.
              </p>
            )}
          </>
        )}
      </Told>
    </Part>
  );
}
