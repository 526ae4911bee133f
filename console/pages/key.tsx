/** One key: why does it not move, since when, who holds it, until when. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { HeldItem, LineEntry } from '../gen/keyturn/v1/admin.js';
import { type Asked, useAsked } from '../live/asked.js';
import { type Told as ToldEvent, useEvents } from '../live/events.js';
import { now } from '../live/tab.js';
import { KeyActs } from '../parts/key-acts.js';
import { Missing, Part, Scroll, Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Age, Name, QueueLink, State, Text, Until } from '../parts/small.js';
import { EventList, Timeline } from '../parts/timeline.js';
import { type Answer, ask, type Json } from '../wire/client.js';
import { serverNow } from '../wire/clock.js';
import { plainName } from '../words/names.js';
import { hrefOf } from '../words/route.js';
import { sentenceOf } from '../words/sentence.js';
import { counted, lengthOf, msOf } from '../words/times.js';

const EVERY_MS = 2_000;
const KEPT_EVENTS = 100;

type Explained = Answer<'ExplainKey'>;

export function KeyPage({ words }: { readonly words: URLSearchParams }) {
  const queue = words.get('queue') ?? '';
  const key = words.get('key') ?? '';
  const asked = useAsked([queue, key], EVERY_MS, (signal) => ask('ExplainKey', { queue, key }, signal));
  return (
    <>
      <Heading title={`Key ${plainName(key)}`}>
        Key <Name of={key} />{' '}
        <span class="of">
          in <QueueLink queue={queue} />
        </span>
      </Heading>
      <Told asked={asked}>
        {(told) => (
          <>
            <Why queue={queue} keyName={key} told={told} />
            <KeyActs queue={queue} keyName={key} told={told} done={() => asked.refresh()} />
            <Line queue={queue} told={told} />
          </>
        )}
      </Told>
      <History queue={queue} keyName={key} asked={asked} />
    </>
  );
}

interface WhyProps {
  readonly queue: string;
  readonly keyName: string;
  readonly told: Explained;
}

function Why({ queue, keyName, told }: WhyProps) {
  const {
    holder,
    waiting = 0,
    waitingCallers = 0,
    waitingItems = 0,
    attempts = 0,
    lastError = '',
    deadLetters = 0,
  } = told;
  return (
    <section class="why" aria-label="Why it does not move">
      <p class="why-sentence" role="status">
        <State of={told.state} /> <Text of={sentenceOf(told.state, told.why)} />
      </p>
      <dl class="facts">
        <div>
          <dt>Since</dt>
          <dd>
            <Age since={told.since} />
          </dd>
        </div>
        <div>
          <dt>Held by</dt>
          <dd>{holder === undefined ? 'nobody' : <Text of={holder.consumerId} />}</dd>
        </div>
        <div>
          <dt>Until</dt>
          <dd>{told.until === undefined ? 'no time ends it' : <Until moment={told.until} />}</dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>
            {waiting === 0
              ? 'nobody'
              : [counted(waitingCallers, 'caller'), counted(waitingItems, 'item')]
                  .filter((text) => !text.startsWith('0 '))
                  .join(', ')}
          </dd>
        </div>
      </dl>
      <Holder told={told} />
      <Held queue={queue} items={told.holder?.heldItems ?? []} />
      {attempts > 0 && lastError !== '' && (
        <p>
          Tried {counted(attempts, 'time')}; the last time: <Text of={lastError} />
        </p>
      )}
      <Missing of={told.unavailable} />
      {deadLetters > 0 && (
        <p>
          <a href={hrefOf('dead-letters', { queue, key: keyName })}>
            {counted(deadLetters, 'dead letter')} of this key
          </a>
        </p>
      )}
    </section>
  );
}

/** What of the turn helps to decide whether to take it away. */
function Holder({ told: { holder } }: { readonly told: Explained }) {
  if (holder === undefined) return null;
  const left = msOf(holder.leaseLeft);
  const isBroken = holder.sessionBrokenSince !== undefined;
  return (
    <p class={isBroken ? 'note' : ''}>
      {isBroken && (
        <strong>
          ⚠ The connection of its session broke <Age since={holder.sessionBrokenSince} /> ago: the worker is gone, or
          cannot reach the sidecar.{' '}
        </strong>
      )}
      It has the turn since <Age since={holder.since} /> (token {holder.token ?? '0'}
      {(holder.items ?? 0) > 0 && `, ${counted(holder.items ?? 0, 'item')}`}
      {(holder.renewals ?? 0) > 0 && `, renewed ${counted(holder.renewals ?? 0, 'time')}`})
      {left !== undefined && `; the lease ends in ${lengthOf(left)} unless it is renewed`}.
    </p>
  );
}

/** What the turn is about, with the trace of who submitted it. */
function Held({ queue, items }: { readonly queue: string; readonly items: readonly Json<HeldItem>[] }) {
  if (items.length === 0) return null;
  return (
    <ul aria-label="Items of the turn">
      {items.map(({ itemId = '', attempt = 0, traceId }) => (
        <li key={itemId}>
          <a href={hrefOf('item', { queue, id: itemId })}>
            <Text of={itemId} />
          </a>
          , attempt {attempt}
          {traceId !== undefined && (
            <>
              , trace <Text of={traceId} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Line({ queue, told }: { readonly queue: string; readonly told: Explained }) {
  const { line = [], waiting = 0 } = told;
  if (waiting === 0) return null;
  return (
    <Part title={`The line: ${counted(waiting, 'entry', 'entries')}`}>
      <Scroll label="The line">
        <table class="compact">
          <caption class="unseen">Who waits, the next one first</caption>
          <thead>
            <tr>
              <th scope="col">Next</th>
              <th scope="col">Waits for</th>
              <th scope="col">Who</th>
              <th scope="col">Tried</th>
              <th scope="col">Last error, or what it waits for</th>
            </tr>
          </thead>
          <tbody>
            {line.map((entry, at) => (
              <Entry key={`${entry.kind}${entry.id}`} queue={queue} at={at} entry={entry} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {waiting > line.length && <p class="faint">And {counted(waiting - line.length, 'more', 'more')}.</p>}
    </Part>
  );
}

interface EntryProps {
  readonly queue: string;
  readonly at: number;
  readonly entry: Json<LineEntry>;
}

function Entry({ queue, at, entry }: EntryProps) {
  const { kind, id = '', after = [], afterCount = 0 } = entry;
  return (
    <tr>
      <td>{at + 1}</td>
      <td>
        <Age since={entry.since} />
      </td>
      <td>
        {kind}{' '}
        {kind === 'item' ? (
          <a href={hrefOf('item', { queue, id })}>
            <Text of={id} />
          </a>
        ) : (
          <Text of={id} />
        )}
      </td>
      <td>{kind === 'item' ? counted(entry.attempts ?? 0, 'time') : ''}</td>
      <td>
        <Text of={entry.lastError} />
        {after.length > 0 && (
          <details open={at === 0}>
            <summary>waits for {counted(afterCount, 'item')} to be done</summary>
            <ul class="tree">
              {after.map((one) => (
                <li key={`${one.queue} ${one.itemId}`}>
                  <Text of={one.itemId} /> in <QueueLink queue={one.queue ?? ''} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
    </tr>
  );
}

interface HistoryProps {
  readonly queue: string;
  readonly keyName: string;
  readonly asked: Asked<unknown>;
}

/** What happens from now on. The sidecar keeps no history of its own. */
function History({ queue, keyName, asked }: HistoryProps) {
  const events = useSignal<readonly ToldEvent[]>([]);
  const missed = useSignal(0);
  const since = useMemo(() => serverNow(), []);
  useEvents([queue, keyName], {
    queue,
    key: keyName,
    take(told, lost) {
      events.value = [...events.value, ...told].slice(-KEPT_EVENTS);
      missed.value += lost;
      asked.refresh();
    },
  });
  return (
    <Part
      title="What happens while you look"
      aside={missed.value > 0 && <span class="tag">{counted(missed.value, 'event')} missed</span>}
    >
      <Timeline of={events.value} since={Math.max(since, now.value - 600_000)} />
      {events.value.length === 0 ? (
        <p class="faint">Nothing since you opened this page.</p>
      ) : (
        <EventList of={events.value} />
      )}
    </Part>
  );
}
