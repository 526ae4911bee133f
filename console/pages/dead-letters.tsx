/** Dead letters of a queue by why they died, and what becomes of them. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { DeadLetter } from '../gen/keyturn/v1/admin.js';
import { useAsked } from '../live/asked.js';
import { looked, lookForStuck, stuck } from '../live/stuck.js';
import { Act } from '../parts/act.js';
import { Missing, Part, Scroll, Told } from '../parts/part.js';
import { Payload } from '../parts/payload.js';
import { Heading } from '../parts/shell.js';
import { Age, Count, KeyLink, QueueLink, Text } from '../parts/small.js';
import { ask, type Json } from '../wire/client.js';
import { type Group, groupsOf } from '../words/causes.js';
import { hrefOf } from '../words/route.js';
import { counted } from '../words/times.js';

const EVERY_MS = 5_000;
/** Grouped together; an answer ends at 3 MiB besides. */
const LETTERS = 1_000;
const SHOWN = 50;

type Letter = Json<DeadLetter>;

export function DeadLetters({ words }: { readonly words: URLSearchParams }) {
  const queue = words.get('queue');
  return queue === null ? <Everywhere /> : <OfQueue queue={queue} keyName={words.get('key') ?? undefined} />;
}

function Everywhere() {
  useEffect(() => lookForStuck(), []);
  const queues = stuck.value.filter(({ dead }) => dead > 0);
  return (
    <>
      <Heading title="Dead letters">Dead letters</Heading>
      <Part
        title="Queues that have some"
        aside={<span class="faint">{counted(stuck.value.filter(({ dead }) => dead > 0).length, 'queue')}</span>}
      >
        {queues.length === 0 ? (
          <p class="faint">{looked.value.isAll ? 'None.' : 'Looking…'}</p>
        ) : (
          <table>
            <caption class="unseen">Queues with dead letters</caption>
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col" class="number">
                  Dead letters
                </th>
              </tr>
            </thead>
            <tbody>
              {queues.map(({ queue, dead }) => (
                <tr key={queue}>
                  <th scope="row">
                    <a href={hrefOf('dead-letters', { queue })}>
                      <Text of={queue} />
                    </a>
                  </th>
                  <td class="number">
                    <Count of={dead} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Part>
    </>
  );
}

function OfQueue({ queue, keyName }: { readonly queue: string; readonly keyName: string | undefined }) {
  const filter = keyName === undefined ? { queue } : { queue, key: keyName };
  const asked = useAsked([queue, keyName], EVERY_MS, (signal) =>
    ask('ListDeadLetters', { ...filter, pageSize: LETTERS }, signal),
  );
  const done = (): void => asked.refresh();
  return (
    <>
      <Heading title={`Dead letters of ${queue}`}>
        Dead letters of <QueueLink queue={queue} />{' '}
        {keyName !== undefined && <KeyLink queue={queue} keyName={keyName} />}
      </Heading>
      <Told asked={asked}>
        {({ deadLetters = [], nextPageToken = '', unavailable }) => (
          <>
            <Missing of={unavailable} />
            {deadLetters.length === 0 ? (
              <p class="faint">None.</p>
            ) : (
              <>
                <div class="buttons">
                  <All filter={filter} letters={deadLetters} isMore={nextPageToken !== ''} done={done} />
                </div>
                {nextPageToken !== '' && (
                  <p class="note">These are the first {deadLetters.length}: groups and numbers below are of them.</p>
                )}
                {groupsOf(deadLetters).map((group) => (
                  <OneGroup key={group.cause} queue={queue} group={group} done={done} />
                ))}
              </>
            )}
          </>
        )}
      </Told>
    </>
  );
}

interface AllProps {
  readonly filter: { readonly queue: string; readonly key?: string };
  readonly letters: readonly Letter[];
  readonly isMore: boolean;
  readonly done: () => void;
}

function All({ filter, letters, isMore, done }: AllProps) {
  const all = isMore
    ? `all dead letters, more than ${letters.length.toLocaleString('en')},`
    : counted(letters.length, 'dead letter');
  const where = filter.key === undefined ? `of queue ${filter.queue}` : 'of this key';
  return (
    <>
      <Act
        name="Redrive all"
        says={() => (
          <p>
            Puts {all} {where} back before what waits, each to its key, with attempts from 1. Those that come meanwhile
            stay.
          </p>
        )}
        does={async () => `${counted((await ask('Redrive', filter)).redriven ?? 0, 'dead letter')} went back.`}
        done={done}
      />
      <Act
        name="Discard all"
        isFinal
        says={() => (
          <p>
            Removes {all} {where} for good: nobody can bring them back.
          </p>
        )}
        does={async () => gone((await ask('Discard', filter)).discarded)}
        done={done}
      />
    </>
  );
}

function gone(discarded = 0): string {
  return `${counted(discarded, 'dead letter')} ${discarded === 1 ? 'is' : 'are'} gone.`;
}

interface GroupProps {
  readonly queue: string;
  readonly group: Group;
  readonly done: () => void;
}

function OneGroup({ queue, group: { cause, letters }, done }: GroupProps) {
  const shown = useSignal(SHOWN);
  const ids = letters.flatMap(({ item }) => item?.itemId ?? []);
  const what = counted(ids.length, 'dead letter');
  return (
    <Part title={<Text of={`${letters.length} × ${cause}`} />}>
      <div class="buttons">
        <Act
          name={`Redrive ${ids.length}`}
          says={() => (
            <p>Puts the {what} of this group back before what waits, each to its key, with attempts from 1.</p>
          )}
          does={async () =>
            `${counted((await ask('Redrive', { queue, itemIds: ids })).redriven ?? 0, 'dead letter')} went back.`
          }
          done={done}
        />
        <Act
          name={`Discard ${ids.length}`}
          isFinal
          says={() => <p>Removes the {what} of this group for good: nobody can bring them back.</p>}
          does={async () => gone((await ask('Discard', { queue, itemIds: ids })).discarded)}
          done={done}
        />
      </div>
      <Scroll label={`Dead letters: ${cause}`}>
        <table class="compact">
          <caption class="unseen">Dead letters of this group, in the order of their submission</caption>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Item</th>
              <th scope="col">Died ago</th>
              <th scope="col" class="number">
                Tried
              </th>
              <th scope="col">Last error</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {letters.slice(0, shown.value).map((letter) => (
              <Row key={letter.item?.itemId} queue={queue} letter={letter} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {letters.length > shown.value && (
        <button
          type="button"
          onClick={() => {
            shown.value += SHOWN;
          }}
        >
          Show {Math.min(SHOWN, letters.length - shown.value)} more
        </button>
      )}
    </Part>
  );
}

function Row({ queue, letter }: { readonly queue: string; readonly letter: Letter }) {
  const { item, key, attempts, lastError, diedAt } = letter;
  const headers = Object.entries(item?.headers ?? {});
  return (
    <tr>
      <td>
        <KeyLink queue={queue} keyName={key} />
      </td>
      <td>
        <Text of={item?.itemId} />
      </td>
      <td>
        <Age since={diedAt} />
      </td>
      <td class="number">
        <Count of={attempts} />
      </td>
      <td>
        <Text of={lastError} />
      </td>
      <td>
        <Payload of={item?.payload} name="payload" />
        {headers.length > 0 && (
          <details>
            <summary>{counted(headers.length, 'header')}</summary>
            <ul class="tree">
              {headers.map(([name, value]) => (
                <li key={name}>
                  <Text of={name} />: <Text of={value} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
    </tr>
  );
}
