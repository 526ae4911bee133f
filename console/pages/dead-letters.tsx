/** Dead letters of a queue by why they died, and what becomes of them. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { DeadLetter, DeadLetterFilter } from '../gen/keyturn/v1/admin.js';
import { useAsked } from '../live/asked.js';
import { looked, lookForStuck, withDeadLetters } from '../live/stuck.js';
import { Act, type Doing } from '../parts/act.js';
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
/** A step of many: a second at most, and after each it can be called off. */
const AT_ONCE = 2_000;
const CAUSES = ['max_attempts', 'max_crashes', 'refused', 'dependency'];

type Letter = Json<DeadLetter>;

export function DeadLetters({ words }: { readonly words: URLSearchParams }) {
  const queue = words.get('queue');
  return queue === null ? <Everywhere /> : <OfQueue queue={queue} keyName={words.get('key') ?? undefined} />;
}

function Everywhere() {
  useEffect(() => lookForStuck(), []);
  const queues = withDeadLetters.value;
  return (
    <>
      <Heading title="Dead letters">Dead letters</Heading>
      <Part title="Queues that have some" aside={<span class="faint">{counted(queues.length, 'queue')}</span>}>
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

interface Chosen {
  readonly queue: string;
  readonly key?: string;
  readonly filter?: Json<DeadLetterFilter>;
}

function OfQueue({ queue, keyName }: { readonly queue: string; readonly keyName: string | undefined }) {
  const cause = useSignal('');
  const error = useSignal('');
  const isFiltered = cause.value !== '' || error.value !== '';
  const chosen: Chosen = {
    queue,
    ...(keyName === undefined ? {} : { key: keyName }),
    ...(isFiltered && { filter: { causes: cause.value === '' ? [] : [cause.value], errorContains: error.value } }),
  };
  const asked = useAsked([queue, keyName, cause.value, error.value], EVERY_MS, (signal) =>
    ask('ListDeadLetters', { ...chosen, pageSize: LETTERS }, signal),
  );
  const done = (): void => asked.refresh();
  return (
    <>
      <Heading title={`Dead letters of ${queue}`}>
        Dead letters of <QueueLink queue={queue} />{' '}
        {keyName !== undefined && <KeyLink queue={queue} keyName={keyName} />}
      </Heading>
      <Filter cause={cause} error={error} />
      <Told asked={asked}>
        {({ deadLetters = [], nextPageToken = '', unavailable }) => (
          <>
            <Missing of={unavailable} />
            {deadLetters.length === 0 ? (
              <p class="faint">{isFiltered ? 'None that fits.' : 'None.'}</p>
            ) : (
              <>
                <div class="buttons">
                  <All chosen={chosen} done={done} />
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

interface FilterProps {
  readonly cause: { value: string };
  readonly error: { value: string };
}

/** The sidecar filters: what is not on the page is found too. */
function Filter({ cause, error }: FilterProps) {
  return (
    <div class="buttons">
      <label>
        Cause{' '}
        <select
          value={cause.value}
          onChange={(event) => {
            cause.value = event.currentTarget.value;
          }}
        >
          <option value="">any</option>
          {CAUSES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        Last error contains{' '}
        <input
          type="search"
          maxLength={256}
          value={error.value}
          onInput={(event) => {
            error.value = event.currentTarget.value;
          }}
        />
      </label>
    </div>
  );
}

function All({ chosen, done }: { readonly chosen: Chosen; readonly done: () => void }) {
  const where = [
    chosen.key === undefined ? `of queue ${chosen.queue}` : 'of this key',
    ...(chosen.filter === undefined ? [] : ['that fit the filter']),
  ].join(' ');
  const what = chosen.filter === undefined ? 'all' : 'those that fit';
  return (
    <>
      <Act
        name={`Redrive ${what}`}
        isLong
        says={async () => {
          const all = (await ask('Redrive', { ...chosen, dryRun: true })).chosen;
          return (
            <p>
              Puts {counted(all ?? 0, 'dead letter')} {where} back before what waits, each to its key, with attempts
              from 1. Those that come meanwhile stay.
            </p>
          );
        }}
        does={(doing) =>
          inSteps(
            doing,
            async (step) => {
              const { redriven, ...told } = await ask('Redrive', { ...chosen, ...step });
              return { ...told, changed: redriven };
            },
            chosen,
            'went back',
          )
        }
        done={done}
      />
      <Act
        name={`Discard ${what}`}
        isFinal
        isLong
        says={async () => {
          const all = (await ask('Discard', { ...chosen, dryRun: true })).chosen;
          return (
            <p>
              Removes {counted(all ?? 0, 'dead letter')} {where} for good: nobody can bring them back.
            </p>
          );
        }}
        does={(doing) =>
          inSteps(
            doing,
            async (step) => {
              const { discarded, ...told } = await ask('Discard', { ...chosen, ...step });
              return { ...told, changed: discarded };
            },
            chosen,
            'are gone',
          )
        }
        done={done}
      />
    </>
  );
}

interface StepRequest {
  readonly limit: number;
  readonly reason: string;
  readonly filter?: Json<DeadLetterFilter>;
}

interface StepAnswer {
  readonly changed?: number | undefined;
  readonly chosen?: number | undefined;
  readonly asOf?: Json<DeadLetterFilter>['diedBefore'];
}

/** What dies again after the first step is not of it: what fails at once would be tried for ever. */
async function inSteps(
  { reason, tell, isCalledOff }: Doing,
  take: (step: StepRequest) => Promise<StepAnswer>,
  { filter }: Chosen,
  did: string,
): Promise<string> {
  let all = 0;
  let diedBefore: StepAnswer['asOf'];
  for (;;) {
    const own = diedBefore === undefined ? filter : { ...filter, diedBefore };
    const step = await take({ limit: AT_ONCE, reason, ...(own === undefined ? {} : { filter: own }) });
    const changed = step.changed ?? 0;
    all += changed;
    const left = (step.chosen ?? 0) - changed;
    diedBefore ??= step.asOf;
    if (left <= 0 || changed === 0) return `${counted(all, 'dead letter')} ${all === 1 ? (IS[did] ?? did) : did}.`;
    if (isCalledOff())
      return `Called off: ${counted(all, 'dead letter')} ${did}, ${counted(left, 'is left', 'are left')}.`;
    tell(all, all + left);
  }
}

const IS: Readonly<Record<string, string>> = { 'are gone': 'is gone' };

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
          does={async ({ reason }) =>
            `${counted((await ask('Redrive', { queue, itemIds: ids, reason })).redriven ?? 0, 'dead letter')} went back.`
          }
          done={done}
        />
        <Act
          name={`Discard ${ids.length}`}
          isFinal
          says={() => <p>Removes the {what} of this group for good: nobody can bring them back.</p>}
          does={async ({ reason }) => gone((await ask('Discard', { queue, itemIds: ids, reason })).discarded)}
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
