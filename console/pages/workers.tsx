/** Who is connected, and what they hold. */
import { useSignal } from '@preact/signals';
import { useAsked } from '../live/asked.js';
import { Missing, Part, Scroll, Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Age, Count, KeyLink, QueueLink, Text, Until } from '../parts/small.js';
import { type Answer, ask } from '../wire/client.js';
import { counted } from '../words/times.js';

const EVERY_MS = 3_000;
const PAGE = 100;

type Listed = Answer<'ListSessions'>;
type Session = NonNullable<Listed['sessions']>[number];

export function Workers() {
  const idContains = useSignal('');
  const pageToken = useSignal('');
  const asked = useAsked([idContains.value, pageToken.value], EVERY_MS, (signal) =>
    ask('ListSessions', { idContains: idContains.value, pageSize: PAGE, pageToken: pageToken.value }, signal),
  );
  return (
    <>
      <Heading title="Workers">Workers</Heading>
      <Part
        title="Sessions"
        aside={
          <label>
            Id contains{' '}
            <input
              type="text"
              maxLength={200}
              value={idContains.value}
              onInput={(event) => {
                idContains.value = event.currentTarget.value;
                pageToken.value = '';
              }}
            />
          </label>
        }
      >
        <Told asked={asked}>
          {({ sessions = [], nextPageToken = '', unavailable }) => (
            <>
              <Missing of={unavailable} />
              {sessions.length === 0 ? (
                <p class="faint">No session. Workers without one, by single calls, are not listed.</p>
              ) : (
                <Table sessions={sessions} />
              )}
              {pageToken.value !== '' && (
                <button
                  type="button"
                  onClick={() => {
                    pageToken.value = '';
                  }}
                >
                  First page
                </button>
              )}
              {nextPageToken !== '' && (
                <button
                  type="button"
                  onClick={() => {
                    pageToken.value = nextPageToken;
                  }}
                >
                  Next page
                </button>
              )}
            </>
          )}
        </Told>
      </Part>
    </>
  );
}

function Table({ sessions }: { readonly sessions: readonly Session[] }) {
  return (
    <Scroll label="Sessions">
      <table class="compact">
        <caption class="unseen">Sessions of workers, by id</caption>
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col">Stream</th>
            <th scope="col">Turns</th>
            <th scope="col">Holds</th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <Row key={`${session.principal} ${session.sessionId}`} session={session} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Row({ session }: { readonly session: Session }) {
  const { sessionId, principal, brokenSince, endsAt, turns = 0, held = [] } = session;
  return (
    <tr>
      <td>
        <Text of={sessionId} />
        {principal !== undefined && (
          <span class="faint">
            {' '}
            of <Text of={principal} />
          </span>
        )}
      </td>
      <td>
        {brokenSince === undefined ? (
          'open'
        ) : (
          <>
            ⚠ broken <Age since={brokenSince} /> ago; it ends at <Until moment={endsAt} />
          </>
        )}
      </td>
      <td>
        <Count of={turns} />
      </td>
      <td>
        {held.map(({ queue = '', key, token }) => (
          <div key={token}>
            <QueueLink queue={queue} /> / <KeyLink queue={queue} keyName={key} />
          </div>
        ))}
        {turns > held.length && held.length > 0 && (
          <span class="faint">and {counted(turns - held.length, 'more', 'more')}</span>
        )}
      </td>
    </tr>
  );
}
