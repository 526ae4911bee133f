/** What is lost of an emptied store, who keeps it in memory, and what is ordered about it. */
import type { Member } from '../registry/registry.js';
import type { ClusterSight, RestoreOrder } from '../store/cluster-store.js';

/** Whose record stands in the store. `none`: it was emptied. `other`: and another cluster began there. */
export type Standing = 'own' | 'none' | 'other';

export interface Seen extends ClusterSight {
  /** Of the record of this cluster. */
  readonly id: string;
  /** That follow that record. */
  readonly members: readonly Member[];
  /** That follow another one. */
  readonly strangers: readonly Member[];
}

/** A member that has the core of a partition in memory, of the claim with this epoch. */
export interface Keeper {
  readonly epoch: number;
  readonly name: string;
}

export function standingOf({ id, record }: Pick<Seen, 'id' | 'record'>): Standing {
  if (record === undefined) return 'none';
  return record.id === id ? 'own' : 'other';
}

/** @param wanted empty: all */
export function lostIn(seen: Seen, wanted: readonly number[]): readonly number[] {
  const isOwn = standingOf(seen) === 'own';
  const lost = seen.guards.filter(({ epoch }) => !isOwn || epoch === 0).map(({ partition }) => partition);
  return wanted.length === 0 ? lost : lost.filter((partition) => wanted.includes(partition));
}

/** Of several that keep a partition the one that claimed it last: the others were succeeded without knowing. */
export function keepersOf({ members }: Pick<Seen, 'members'>): ReadonlyMap<number, Keeper> {
  const keepers = new Map<number, Keeper>();
  for (const { keeps = [], name } of members) {
    for (const [partition, epoch] of keeps) {
      if (epoch > (keepers.get(partition)?.epoch ?? 0)) keepers.set(partition, { epoch, name });
    }
  }
  return keepers;
}

/** Members that live, and may keep something of which they have not told yet. */
export function silentMembers({ members }: Pick<Seen, 'members'>): readonly Member[] {
  return members.filter(({ keeps, weight }) => keeps === undefined && weight > 0);
}

/** Without one: nobody keeps it, and its loss is not accepted. */
export function ordersFor(
  lost: readonly number[],
  keepers: ReadonlyMap<number, Keeper>,
  acceptLoss: boolean,
): ReadonlyMap<number, RestoreOrder> {
  const orders = new Map<number, RestoreOrder>();
  for (const partition of lost) {
    const keeper = keepers.get(partition);
    if (keeper !== undefined) orders.set(partition, { kind: 'core', epoch: keeper.epoch });
    else if (acceptLoss) orders.set(partition, { kind: 'empty' });
  }
  return orders;
}
