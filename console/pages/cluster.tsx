/** The cluster: its sidecars, and which of them decides about each partition. */
import { useSignal } from '@preact/signals';
import { useAsked } from '../live/asked.js';
import { Act } from '../parts/act.js';
import { Missing, Part, Scroll, Told } from '../parts/part.js';
import { Heading } from '../parts/shell.js';
import { Count, QueueLink, Text } from '../parts/small.js';
import { type Answer, ask, CallError } from '../wire/client.js';
import { lengthOf, msOf } from '../words/times.js';

const EVERY_MS = 3_000;

type Seen = Answer<'GetCluster'>;

/** A sidecar that stands alone says so by refusing; that is an answer here. */
async function clusterOf(signal: AbortSignal): Promise<{ readonly cluster: Seen | undefined }> {
  try {
    return { cluster: await ask('GetCluster', {}, signal) };
  } catch (error) {
    if (error instanceof CallError && error.code === 'failed_precondition') return { cluster: undefined };
    throw error;
  }
}

export function Cluster() {
  const asked = useAsked([], EVERY_MS, clusterOf);
  return (
    <>
      <Heading title="Cluster">Cluster</Heading>
      <Told asked={asked}>
        {({ cluster }) =>
          cluster === undefined ? (
            <p class="note">This sidecar stands alone: it is in no cluster.</p>
          ) : (
            <Parts cluster={cluster} done={() => asked.refresh()} />
          )
        }
      </Told>
    </>
  );
}

function Parts({ cluster, done }: { readonly cluster: Seen; readonly done: () => void }) {
  const { name, partitions = 0, store, members = [], homes = [], unavailable, format, routes = [] } = cluster;
  const closed = homes.filter(({ state }) => state !== 'open').length;
  const nameOf = (id: string | undefined): string => members.find((member) => member.id === id)?.name ?? id ?? '';
  return (
    <>
      <section class="why" aria-label="How it is">
        <p class="why-sentence" role="status">
          {closed === 0
            ? `All ${partitions} partitions have a home that takes calls.`
            : `${closed} of ${partitions} partitions take no calls now.`}
        </p>
        <dl class="facts">
          <div>
            <dt>Name</dt>
            <dd>
              <Text of={name} />
            </dd>
          </div>
          <div>
            <dt>Store</dt>
            <dd>
              <Text of={store} />
            </dd>
          </div>
          <div>
            <dt>Format of rows</dt>
            <dd>{format}</dd>
          </div>
        </dl>
        <Missing of={unavailable} />
      </section>
      <Part title="Members">
        <Scroll label="Members">
          <table>
            <caption class="unseen">Sidecars of the cluster</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">State</th>
                <th scope="col">Version</th>
                <th scope="col">Clients reach it at</th>
                <th scope="col" class="number">
                  Weight
                </th>
                <th scope="col" class="number">
                  Partitions
                </th>
              </tr>
            </thead>
            <tbody>
              {members.map((member) => (
                <tr key={member.id}>
                  <th scope="row">
                    <Text of={member.name} />
                  </th>
                  <td>{member.state}</td>
                  <td>{member.version}</td>
                  <td>
                    <Text of={member.address} />
                  </td>
                  <td class="number">{member.weight ?? 0}</td>
                  <td class="number">
                    <Count of={member.partitions} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Part>
      <Part title="Partitions" aside={<Move cluster={cluster} done={done} />}>
        <Scroll label="Partitions">
          <table class="compact">
            <caption class="unseen">Which sidecar decides about each partition</caption>
            <thead>
              <tr>
                <th scope="col" class="number">
                  Partition
                </th>
                <th scope="col">Home</th>
                <th scope="col">State</th>
                <th scope="col" class="number">
                  Queues
                </th>
                <th scope="col">Moved by hand to</th>
              </tr>
            </thead>
            <tbody>
              {homes.map((home) => (
                <tr key={home.partition}>
                  <td class="number">{home.partition ?? 0}</td>
                  <td>
                    <Text of={nameOf(home.member)} />
                  </td>
                  <td>{home.state === 'open' ? 'open' : <strong>⚠ {home.state}</strong>}</td>
                  <td class="number">
                    <Count of={home.queues} />
                  </td>
                  <td>
                    <Text of={home.pinned} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Part>
      {routes.length > 0 && (
        <Part title="Queues that live together, or are spread">
          <ul>
            {routes.map(({ queue = '', group, spread = 1 }) => (
              <li key={queue}>
                <QueueLink queue={queue} />{' '}
                {spread > 1 ? (
                  `over ${spread} parts`
                ) : (
                  <>
                    with group <Text of={group} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </Part>
      )}
    </>
  );
}

function Move({ cluster, done }: { readonly cluster: Seen; readonly done: () => void }) {
  const partition = useSignal('0');
  const member = useSignal('');
  const { partitions = 0, members = [] } = cluster;
  return (
    <Act
      name="Move a partition"
      says={() => {
        member.value = members[0]?.id ?? '';
        return (
          <p>
            Makes a member the home of one partition for as long as that member lives. Calls about its queues wait until
            it is done, most often less than a second.
          </p>
        );
      }}
      fields={
        <>
          <label class="field">
            Partition, 0 to {partitions - 1}
            <input
              type="number"
              min="0"
              max={partitions - 1}
              required
              value={partition.value}
              onInput={(event) => {
                partition.value = event.currentTarget.value;
              }}
            />
          </label>
          <label class="field">
            To
            <select
              value={member.value}
              onChange={(event) => {
                member.value = event.currentTarget.value;
              }}
            >
              {members.map(({ id = '', name }) => (
                <option key={id} value={id}>
                  {name} ({id.slice(0, 8)})
                </option>
              ))}
            </select>
          </label>
        </>
      }
      does={async ({ reason }) => {
        const did = await ask('MovePartition', { partition: Number(partition.value), member: member.value, reason });
        const paused = msOf(did.paused);
        const time = paused === undefined ? '' : ` Nobody decided about it for ${lengthOf(paused)}.`;
        return `Partition ${partition.value}: ${(did.state ?? '').replaceAll('_', ' ')}, home ${did.name ?? 'nobody'}.${time}${did.why ? ` ${did.why}` : ''}`;
      }}
      done={done}
    />
  );
}
