/** Who leads a group, since when, and who waits. */
import { useSignal } from '@preact/signals';
import type { LeaderPhase, Succession } from '../gen/keyturn/v1/leader.js';
import { useAsked } from '../live/asked.js';
import { go } from '../live/place.js';
import { Act } from '../parts/act.js';
import { Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Age, Text, Until } from '../parts/small.js';
import { type Answer, ask } from '../wire/client.js';
import { plainName } from '../words/names.js';
import { hrefOf } from '../words/route.js';
import { counted } from '../words/times.js';

const EVERY_MS = 2_000;

const PHASES: Readonly<Record<LeaderPhase, string>> = {
  LEADER_PHASE_UNSPECIFIED: 'nobody leads',
  LEADER_PHASE_INAUGURATING: 'it prepares',
  LEADER_PHASE_EXECUTING: 'it works',
  LEADER_PHASE_HANDING_OVER: 'it hands over',
  LEADER_PHASE_LOST: 'its term is lost, and it has not said yet that it has stopped',
};

const ENDS: Readonly<Record<Succession, string>> = {
  SUCCESSION_UNSPECIFIED: '',
  SUCCESSION_NONE: '',
  SUCCESSION_HANDED_OVER: 'handed over',
  SUCCESSION_LOST: 'was lost: it may have stopped in the middle of its work',
};

export function Leaders({ words }: { readonly words: URLSearchParams }) {
  const group = words.get('group') ?? '';
  const typed = useSignal(group);
  return (
    <>
      <Heading title={group === '' ? 'Leaders' : `Leader of ${group}`}>
        {group === '' ? (
          'Leaders'
        ) : (
          <>
            Leader of <Text of={group} />
          </>
        )}
      </Heading>
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          go(hrefOf('leaders', { group: typed.value.trim() }));
        }}
      >
        <label>
          Group{' '}
          <input
            type="text"
            required
            maxLength={256}
            value={typed.value}
            onInput={(event) => {
              typed.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Who leads it?</button>
      </form>
      {group === '' ? (
        <p class="faint">Groups are found by their name: no list of them is kept.</p>
      ) : (
        <Group group={group} />
      )}
    </>
  );
}

function Group({ group }: { readonly group: string }) {
  const asked = useAsked([group], EVERY_MS, (signal) => ask('GetLeader', { group }, signal));
  return <Told asked={asked}>{(told) => <Led group={group} told={told} done={() => asked.refresh()} />}</Told>;
}

interface LedProps {
  readonly group: string;
  readonly told: Answer<'GetLeader'>;
  readonly done: () => void;
}

function Led({ group, told, done }: LedProps) {
  const { leader, candidates = 0, predecessor, why = '', until } = told;
  const ended = ENDS[predecessor?.how ?? 'SUCCESSION_NONE'];
  return (
    <>
      <section class="why" aria-label="Who leads">
        <p class="why-sentence" role="status">
          {leader === undefined ? (
            'Nobody leads.'
          ) : (
            <>
              <Text of={leader.candidateId} /> leads: {PHASES[leader.phase ?? 'LEADER_PHASE_UNSPECIFIED']}.
            </>
          )}
        </p>
        {why !== '' && (
          <p>
            Those who stand wait: <Text of={why} />
            {until !== undefined && (
              <>
                {' '}
                Until <Until moment={until} /> at the latest.
              </>
            )}
          </p>
        )}
        <dl class="facts">
          {leader !== undefined && (
            <>
              <div>
                <dt>Since</dt>
                <dd>
                  <Age since={leader.since} />
                </dd>
              </div>
              <div>
                <dt>Term</dt>
                <dd>{leader.term ?? '0'}</dd>
              </div>
              <div>
                <dt>Known to hold until</dt>
                <dd>
                  <Until moment={leader.holdsUntil} />
                </dd>
              </div>
            </>
          )}
          <div>
            <dt>Waiting</dt>
            <dd>{counted(candidates, 'candidate')}</dd>
          </div>
        </dl>
        {ended !== '' && (
          <p>
            Before: <Text of={predecessor?.candidateId} />, term {predecessor?.term ?? '0'}, {ended}.
          </p>
        )}
        {Object.entries(leader?.metadata ?? {}).map(([name, value]) => (
          <p key={name}>
            <Text of={name} />: <Text of={value} />
          </p>
        ))}
      </section>
      {leader !== undefined && (
        <div class="buttons">
          <Act
            name="Ask to hand over"
            says={() => (
              <p>
                Asks <Text of={leader.candidateId} /> to finish what is in hand and hand over.{' '}
                {candidates === 0
                  ? 'Nobody else stands: the group has no leader until somebody does.'
                  : `${counted(candidates, 'candidate')} wait.`}
              </p>
            )}
            does={async ({ reason }) => {
              const did = await ask('YieldLeader', { group, reason });
              return did.asked === true
                ? `${plainName(did.candidateId ?? '')} was asked to hand over (term ${did.term ?? '0'}).`
                : 'Nobody leads any more.';
            }}
            done={done}
          />
        </div>
      )}
    </>
  );
}
