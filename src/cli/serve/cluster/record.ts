/** What all sidecars of a cluster must agree on: the first one writes it, the others find it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { routesIn } from '../../../cluster/partitions/partition-settings.js';
import { isNamed, isSamePlace, type Place, placeOf, placeText } from '../../../cluster/partitions/routes.js';
import type { Member } from '../../../cluster/registry/registry.js';
import type { ClusterRecord, ClusterStore, Route } from '../../../cluster/store/cluster-store.js';
import { FORMAT, formatOf } from '../../../cluster/store/format.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import { PARTITIONS } from '../../../config/cluster-settings.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import { pastedCommand } from '../../../core/contract/pasted-command.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';

const SECRET_BYTES = 32;
/** So ids of `keyturn store import` begin, which is a member as long as it runs. */
export const IMPORTS = 'import-';

export type RecordKeeper = Pick<ClusterStore, 'name' | 'record' | 'hasRecord' | 'importUnderWay'>;

/**
 * @param living who lives in the registry, asked before this: a member joins when the record is there
 * @throws CommandFailure when this configuration says something else than the cluster does, or the record is gone; JournalError
 */
export async function agree(
  store: RecordKeeper,
  living: readonly Member[],
  cluster: Pick<ClusterSettings, 'name' | 'partitions'>,
  settings: Pick<CoordinatorSettings, 'queues'>,
): Promise<ClusterRecord> {
  const mark = await store.importUnderWay();
  const importing = living.find(({ id }) => id.startsWith(IMPORTS));
  // One that was cut off before anything of it counted left nothing.
  if (mark?.counts === true || importing !== undefined)
    throw imported(store, cluster.name, mark?.from ?? importing?.name ?? '');
  const [member] = living;
  if (member !== undefined && !(await store.hasRecord())) throw emptied(store, cluster.name, member, living.length);
  const routes = routesIn(settings);
  const record = await store.record({
    id: randomUUID(),
    partitions: cluster.partitions ?? PARTITIONS,
    secret: randomBytes(SECRET_BYTES).toString('base64'),
    version: 1,
    routes,
    // Of a cluster that is new no version before can come back.
    format: FORMAT,
  });
  if (formatOf(record) > FORMAT) throw tooOld(store, cluster.name, record);
  const wrong = [...differsInPartitions(cluster, record), ...differsInRoutes(routes, record)];
  if (wrong.length > 0) throw new CommandFailure(wrong.join('\n'), EXIT.failure);
  return record;
}

/** With a record of its own this sidecar would begin empty, beside others that know what was there. */
export function emptied(store: RecordKeeper, cluster: string, member: Member, count: number): CommandFailure {
  return new CommandFailure(
    `there is no record of the cluster ${cluster} in ${store.name}, but ${count} of its members live, ${member.name} at ${member.address} among them; look whether the store was emptied (FLUSHALL) or whether "store" names another server or database; bring back what it had, or "keyturn cluster restore all", asked of a sidecar that lives, writes back what they keep in memory: end none of them`,
    EXIT.failure,
  );
}

/** Half of the queues would be there, and would go on without the other half. */
function imported({ name }: RecordKeeper, cluster: string, from: string): CommandFailure {
  return new CommandFailure(
    `an import of ${from} into the cluster ${cluster} in ${name} is under way, or was cut off; wait until it has ended, or run "keyturn store import" again; to give it up, take another cluster.name, or delete the key ${cluster}:import in the store: then what was imported so far stays`,
    EXIT.failure,
  );
}

/** A person said that no version comes back that cannot read it. */
function tooOld({ name }: RecordKeeper, cluster: string, record: ClusterRecord): CommandFailure {
  return new CommandFailure(
    `the cluster ${cluster} in ${name} keeps rows in format ${formatOf(record)} ("keyturn cluster finalize"), and this version reads up to format ${FORMAT}; start a newer one`,
    EXIT.failure,
  );
}

/** Who says nothing of it follows the record. */
function differsInPartitions(
  { name, partitions }: Pick<ClusterSettings, 'name' | 'partitions'>,
  record: ClusterRecord,
): readonly string[] {
  if (partitions === undefined || partitions === record.partitions) return [];
  return [
    `cluster.partitions: is ${partitions}, but the cluster ${name} has ${record.partitions}, and that never changes; leave it out, or take another cluster.name`,
  ];
}

/**
 * A queue of which this configuration says nothing is where the record says; one of which the record says nothing is taken into it
 * (`new-routes.ts`). Two views would give a key two homes.
 */
function* differsInRoutes(routes: Readonly<Record<string, Route>>, record: ClusterRecord): Generator<string> {
  for (const [queue, route] of Object.entries(routes)) {
    const wrong = isNamed(record, queue) ? differsInRoute(queue, route, placeOf(record, queue)) : undefined;
    if (wrong !== undefined) yield wrong;
  }
}

/** For people; unset: it does not differ. */
export function differsInRoute(queue: string, said: Place, there: Place): string | undefined {
  if (isSamePlace(said, there)) return undefined;
  return `queues.${queue}: has ${placeText(said, queue)}, but in the cluster it has ${placeText(there, queue)}; all sidecars of a cluster must say the same, or nothing; "${pastedCommand(['cluster', 'route'], [queue])}" changes it for all`;
}
