/**
 * The store was emptied, and a person wants back what live members keep in memory. What is ordered stands in the store, where every
 * member sees it: the sidecar that is asked may be a gateway, or end halfway, and another one is asked again.
 */
import type { Refusal, RestoredPartition, RestoreRequest, RestoreView, Result } from '../../coordinator.js';
import { badRequest, DRAINING } from '../../core/contract/refusals.js';
import type { Clock } from '../../local/clock.js';
import {
  type Keeper,
  keepersOf,
  lostIn,
  ordersFor,
  type Seen,
  silentMembers,
  standingOf,
} from '../partitions/restore-plan.js';
import type { Member, Registry } from '../registry/registry.js';
import { revisionOf } from '../store/amend.js';
import type { ClusterRecord, ClusterStore, RestoreOrder } from '../store/cluster-store.js';

/** So long it is waited for members to write back, ms. */
const PATIENCE = 20_000;
/** ms */
const LOOK_EVERY = 100;
/** Beyond the time of a session, until members have joined anew and said what they keep, ms. */
const UNTIL_SAID = 1_000;
/** The same for those that live and say nothing. */
const MOST_UNTIL_SAID = 5_000;
/** How often somebody else may put the record back, or begin a cluster, at the same time. */
const MOST_TRIES = 3;

interface RestoringOptions {
  readonly clock: Clock;
  readonly store: Pick<ClusterStore, 'look' | 'restoreRecord' | 'order' | 'ordered'>;
  readonly registry: Pick<Registry, 'members'>;
  /** Of the cluster, as it is known here. */
  record(): ClusterRecord;
  /** How long a session lives, ms. */
  readonly ttl: number;
  /** Nothing is waited for any more. */
  isEnded(): boolean;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };

export class Restoring {
  #isUnderWay = false;

  constructor(private readonly options: RestoringOptions) {}

  /** @throws Error of the registry, JournalError */
  async restore(request: RestoreRequest): Promise<Result<RestoreView>> {
    const { partitions } = this.options.record();
    const wrong = request.partitions.findIndex((one) => !Number.isInteger(one) || one < 0 || one >= partitions);
    if (wrong >= 0) {
      const field = `partitions[${wrong}]`;
      const what = `${request.partitions[wrong]} is not allowed; allowed: 0 to ${partitions - 1}`;
      return { ok: false, refusal: badRequest(field, what) };
    }
    if (this.#isUnderWay)
      return notPossible('not_restorable', 'this sidecar restores already; wait until that has ended');
    this.#isUnderWay = true;
    try {
      return await this.#restore(request);
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #restore(request: RestoreRequest): Promise<Result<RestoreView>> {
    const first = await this.#look();
    if (lostIn(first, request.partitions).length === 0) return nothingToRestore(request);
    const gathered = await this.#gather(first, request.partitions);
    if ('refusal' in gathered) return gathered;
    const back = await this.#putRecordBack(gathered, request);
    if (typeof back !== 'boolean') return back;
    const keepers = keepersOf(gathered);
    const partitions = await this.#writeBack(request, keepers);
    return { ok: true, value: { isRecordBack: back, partitions } };
  }

  /** Sessions may have gone with the store: members join anew, and say what they keep. */
  async #gather(first: Seen, wanted: readonly number[]): Promise<Seen | Refused> {
    const { clock, ttl } = this.options;
    const begun = clock.now();
    for (let seen = first; ; seen = await this.#look()) {
      const silent = standingOf(seen) === 'own' ? [] : silentMembers(seen);
      const passed = clock.now() - begun;
      const keepers = keepersOf(seen);
      const isAllKept = lostIn(seen, wanted).every((partition) => keepers.has(partition));
      if (silent.length === 0 && (isAllKept || passed >= ttl + UNTIL_SAID)) return seen;
      if (passed >= ttl + MOST_UNTIL_SAID) return saysNothing(silent);
      if (this.options.isEnded()) return { ok: false, refusal: DRAINING };
      await this.#pause();
    }
  }

  /** @returns whether it was gone, and is back */
  async #putRecordBack(gathered: Seen, { acceptLoss }: RestoreRequest): Promise<boolean | Refused> {
    const record = this.options.record();
    let seen = gathered;
    for (let left = MOST_TRIES; left > 0; left -= 1) {
      const standing = standingOf(seen);
      if (standing === 'own') return left < MOST_TRIES;
      const ahead = newestAhead(seen.members, record);
      if (ahead !== undefined) return askAhead(ahead);
      if (standing === 'other') {
        const [stranger] = seen.strangers;
        if (stranger !== undefined) return strangerLives(stranger);
        if (!acceptLoss) return otherCluster();
      }
      const all = Array.from({ length: record.partitions }, (_, partition) => partition);
      const isThere = (partition: number) => standing === 'none' && (seen.guards[partition]?.epoch ?? 0) > 0;
      const waiting = all.filter((partition) => !isThere(partition));
      if (await this.options.store.restoreRecord(record, seen.record?.id ?? '', waiting)) return true;
      seen = await this.#look();
    }
    return notPossible('not_restorable', 'the record of the cluster changes while it is put back; try again');
  }

  async #writeBack(
    { partitions, acceptLoss }: RestoreRequest,
    keepers: ReadonlyMap<number, Keeper>,
  ): Promise<readonly RestoredPartition[]> {
    const { store, clock } = this.options;
    const found = await this.#look();
    const lost = lostIn(found, partitions);
    const orders = ordersFor(lost, keepers, acceptLoss);
    await store.order(orders);
    const told = new Map<number, RestoredPartition>();
    for (const partition of partitions) told.set(partition, { partition, outcome: 'not_lost', member: '', why: '' });
    for (const partition of lost) told.set(partition, before(partition, orders.get(partition), keepers));
    const begun = clock.now();
    const open = new Set(orders.keys());
    while (open.size > 0 && clock.now() - begun < PATIENCE && !this.options.isEnded()) {
      await this.#pause();
      const seen = await this.#look();
      for (const partition of open) {
        const guard = seen.guards[partition];
        if (guard === undefined || guard.epoch === 0) continue;
        open.delete(partition);
        const home = seen.members.find(({ id }) => id === guard.member)?.name ?? '';
        told.set(partition, after(partition, orders.get(partition), keepers.get(partition)?.name ?? home));
      }
    }
    const done = [...orders.keys()].filter((partition) => !open.has(partition));
    await store.ordered(done);
    return [...told.values()].sort((a, b) => a.partition - b.partition);
  }

  async #look(): Promise<Seen> {
    const { store, registry } = this.options;
    const { id, partitions } = this.options.record();
    const { guards, record, orders } = await store.look(partitions);
    const all = await registry.members();
    const isOwn = ({ cluster }: Member) => cluster === undefined || cluster === id;
    return { id, guards, record, orders, members: all.filter(isOwn), strangers: all.filter((one) => !isOwn(one)) };
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => void this.options.clock.after(LOOK_EVERY, resolve));
  }
}

function before(
  partition: number,
  order: RestoreOrder | undefined,
  keepers: ReadonlyMap<number, Keeper>,
): RestoredPartition {
  const member = keepers.get(partition)?.name ?? '';
  if (order === undefined) {
    const why = `no live member keeps partition ${partition} in memory: bring back what the store had, or let it begin empty (--accept-loss)`;
    return { partition, outcome: 'no_core', member, why };
  }
  const why =
    order.kind === 'core'
      ? `${member} was told to write partition ${partition} back, and has not yet; look at its log`
      : `partition ${partition} may be claimed, and nobody has yet; look at "keyturn cluster"`;
  return { partition, outcome: 'under_way', member, why };
}

function after(partition: number, order: RestoreOrder | undefined, member: string): RestoredPartition {
  return { partition, outcome: order?.kind === 'empty' ? 'begun_empty' : 'written_back', member, why: '' };
}

function nothingToRestore({ partitions }: RestoreRequest): Refused {
  const which = partitions.length === 0 ? 'every partition' : `partition ${partitions.join(', ')}`;
  return notPossible(
    'nothing_to_restore',
    `nothing to restore: the store has the guard of ${which}; see "keyturn cluster"`,
  );
}

function otherCluster(): Refused {
  return notPossible(
    'other_cluster',
    'another cluster began in the store after it was emptied, and its sidecars are gone; what it accepted there is lost when this one is put back: say so (--accept-loss)',
  );
}

function strangerLives({ name, address }: Member): Refused {
  return notPossible(
    'not_restorable',
    `another cluster began in the store after it was emptied, and its sidecar ${name} at ${address} lives; end it and all others that were started since, and none that were there before; then try again`,
  );
}

/** Of those that follow a newer record the one with the newest: what it has is lost if an older one is put back. */
function newestAhead(members: readonly Member[], record: ClusterRecord): Member | undefined {
  // One of an older version says its routes only: the revision is not smaller than these.
  const known = ({ revision, routes }: Member) => Math.max(revision ?? 0, routes);
  const isAhead = (one: Member) => one.routes > record.version || (one.revision ?? 0) > revisionOf(record);
  return members.filter(isAhead).sort((a, b) => known(b) - known(a))[0];
}

function askAhead({ name, grpc }: Member): Refused {
  return notPossible(
    'not_restorable',
    `${name} knows a newer record of the cluster than this sidecar: ask that one, at ${grpc}`,
  );
}

function saysNothing(silent: readonly Member[]): Refused {
  const names = silent.map(({ name, address }) => `${name} at ${address}`).join(', ');
  return notPossible(
    'not_restorable',
    `${names} lives and does not say what it keeps in memory; look at its log, or end it if it is to be given up; then try again`,
  );
}

function notPossible(because: 'nothing_to_restore' | 'other_cluster' | 'not_restorable', description: string): Refused {
  return { ok: false, refusal: { kind: 'not_possible', because, description } };
}
