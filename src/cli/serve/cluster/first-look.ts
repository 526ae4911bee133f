/**
 * What a sidecar of a cluster agrees with before it joins, while others may only be on their way back: a store that was emptied a
 * moment ago looks new, and so does its registry, until the members that lost their sessions with it have joined anew.
 */
import type { Member, Registry } from '../../../cluster/registry/registry.js';
import type { ClusterRecord, ClusterStore } from '../../../cluster/store/cluster-store.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import type { Clock } from '../../../local/clock.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';
import { agree, emptied, type RecordKeeper } from './record.js';

/** So long it takes members at most to connect again, and to join, ms. */
const UNTIL_BACK = 2_000;
/** ms */
const LOOK_EVERY = 250;
/** How often others may withdraw the record that was found. */
const MOST_TRIES = 5;

interface FirstLook {
  readonly store: RecordKeeper & Pick<ClusterStore, 'look' | 'withdrawRecord'>;
  readonly registry: Pick<Registry, 'members'>;
  readonly cluster: Pick<ClusterSettings, 'name' | 'partitions'>;
  readonly settings: Pick<CoordinatorSettings, 'queues'>;
  readonly clock: Pick<Clock, 'after' | 'now'>;
}

/**
 * Of a cluster of which no partition was ever claimed it is waited whether members of another one come back to this store. Then that
 * one was emptied: the record is taken back, and this sidecar does not start. All that start meanwhile wait as well, so nobody has
 * claimed anything by then.
 *
 * @throws CommandFailure; Error of the registry, JournalError
 */
export async function agreeAfterLook({ store, registry, cluster, settings, clock }: FirstLook): Promise<ClusterRecord> {
  for (let left = MOST_TRIES; ; left -= 1) {
    const record = await agree(store, await registry.members(), cluster, settings);
    const { guards, orders } = await store.look(record.partitions);
    // Whoever is a member of it has waited.
    const isBegun = async () => (await registry.members()).some((member) => member.cluster === record.id);
    if (orders.size > 0 || guards.some(({ epoch }) => epoch > 0) || (await isBegun())) return record;
    const others = await comeBack(registry, clock, record);
    const [first] = others;
    if (first !== undefined) {
      await store.withdrawRecord(record);
      throw emptied(store, cluster.name, first, others.length);
    }
    // Another one that waits may have seen them, and taken the record back.
    if ((await store.look(0)).record?.id === record.id) return record;
    if (left === 0) throw takenBack(store.name, cluster.name);
  }
}

/** Without a record that stands it would be a cluster of its own, of which no other sidecar knows. */
function takenBack(store: string, cluster: string): CommandFailure {
  return new CommandFailure(
    `the record of the cluster ${cluster} in ${store} was taken back ${MOST_TRIES + 1} times while this sidecar began; look whether sidecars of different clusters share this name in one store, or whether the store is emptied again and again, and start it again`,
    EXIT.failure,
  );
}

/** Members that follow another record; none: nobody came. */
async function comeBack(
  registry: FirstLook['registry'],
  clock: FirstLook['clock'],
  { id }: ClusterRecord,
): Promise<readonly Member[]> {
  const begun = clock.now();
  for (;;) {
    const others = (await registry.members()).filter(({ cluster }) => cluster !== undefined && cluster !== id);
    if (others.length > 0 || clock.now() - begun >= UNTIL_BACK) return others;
    await new Promise<void>((resolve) => void clock.after(LOOK_EVERY, resolve));
  }
}
