/** The sidecar that serves this page, and who it takes one for. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useAsked } from '../live/asked.js';
import { now } from '../live/tab.js';
import { Part, Scroll, Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Age, Text } from '../parts/small.js';
import { type Answer, ask } from '../wire/client.js';
import { offset } from '../wire/clock.js';
import { clockTime, lengthOf } from '../words/times.js';
import { readSession } from './login.js';

const EVERY_MS = 5_000;

type Seen = Answer<'GetServer'>;

const KEEPS: Readonly<Record<string, string>> = {
  memory: 'in memory only',
  directory: 'in its data directory',
  store: 'in the store of its cluster',
};

export function Server() {
  useEffect(() => void readSession(), []);
  const asked = useAsked([], EVERY_MS, (signal) => ask('GetServer', {}, signal));
  return (
    <>
      <Heading title="Server">Server</Heading>
      <Told asked={asked}>
        {(server) => (
          <>
            <Facts server={server} />
            <Rights server={server} />
            <Limits server={server} />
            <p>
              <a href="/licenses.txt" target="_blank" rel="noopener">
                Licences of the libraries in this page
              </a>
            </p>
            {server.settings !== undefined && (
              <Part title="Settings that differ from the built-in ones">
                <Scroll label="Settings">
                  <pre>{server.settings}</pre>
                </Scroll>
              </Part>
            )}
          </>
        )}
      </Told>
    </>
  );
}

function Facts({ server }: { readonly server: Seen }) {
  const { version, runtime, startedAt, principal, keeps = '', tls = false, audit = false } = server;
  const off = Math.abs(offset());
  const clock = off < 1_000 ? '' : `, ${lengthOf(off)} ${offset() > 0 ? 'before' : 'behind'} that of this browser`;
  return (
    <dl class="facts part">
      <Fact name="Version" of={<Text of={`${version}, ${runtime}`} />} />
      <Fact name="Started" of={<Age since={startedAt} />} />
      <Fact name="You are" of={principal === undefined ? 'not asked who you are' : <Text of={principal} />} />
      <Fact name="Its clock" of={`${clockTime(now.value, now.value)}${clock}`} />
      {server.cluster !== undefined && <Fact name="Cluster" of={<Text of={server.cluster} />} />}
      <Fact name="What is durable is kept" of={KEEPS[keeps] ?? keeps} />
      <Fact name="gRPC" of={<Text of={`${server.grpcAddress}${tls ? ', TLS' : ''}`} />} />
      <Fact name="Metrics" of={<Text of={server.httpAddress} />} />
      <Fact name="Audit" of={audit ? 'on' : 'off'} />
    </dl>
  );
}

function Fact({ name, of }: { readonly name: string; readonly of: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{of}</dd>
    </div>
  );
}

function Rights({ server: { rights = [] } }: { readonly server: Seen }) {
  if (rights.length === 0) return null;
  return (
    <Part title="What you may do">
      <ul>
        {rights.map(({ may = [], queues = [], groups = [] }, at) => (
          <li key={at}>
            {may.join(', ')}
            {queues.length > 0 && (
              <>
                {' '}
                on queues <Text of={queues.join(', ')} />
              </>
            )}
            {groups.length > 0 && (
              <>
                {' '}
                on groups <Text of={groups.join(', ')} />
              </>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Limits({ server: { limits = [] } }: { readonly server: Seen }) {
  if (limits.length === 0) return null;
  return (
    <Part title="How full it is">
      <table class="compact">
        <caption class="unseen">Limits and what is in use</caption>
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">In use</th>
            <th scope="col">Of</th>
          </tr>
        </thead>
        <tbody>
          {limits.map(({ limit = '', used = '0', most }) => (
            <tr key={limit}>
              <td>{limit.replaceAll('_', ' ')}</td>
              <td>{Number(used).toLocaleString('en')}</td>
              <td>{most === undefined ? 'no bound' : Number(most).toLocaleString('en')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}
