/**
 * Guards that are gone from the store: what this member keeps of such partitions is told to everybody, and what a person ordered
 * about them is done.
 */
import type { Member } from '../registry/registry.js';
import type { ClusterStore, Guard, RestoreOrder } from '../store/cluster-store.js';
import type { View } from './listing.js';
import type { MemberPartition } from './member-partition.js';

/** Whether a partition may be claimed now. @param mayWithoutOrder whether it might if nothing was ordered */
export function mayClaimBy(order: RestoreOrder | undefined, guard: Guard, mayWithoutOrder: boolean): boolean {
  if (order === undefined) return mayWithoutOrder;
  return guard.epoch > 0 || order.kind === 'empty';
}

type Kept = Pick<MemberPartition, 'kept' | 'putBack'>;

export class MissingGuards {
  /** Of the look before. */
  #orders: View['orders'] = new Map();
  #isTelling = false;

  constructor(
    private readonly store: Pick<ClusterStore, 'ordered'>,
    private readonly keeps: (kept: Member['keeps']) => void,
    private readonly trouble: (error: Error) => void,
  ) {}

  /** @param epochs the largest that was ever seen of each partition */
  seen(view: View, own: readonly Kept[], epochs: readonly number[]): void {
    this.keeps(kept(view, own, epochs));
    if (view.standing === 'own') this.#carryOut(view, own);
    this.#orders = view.orders;
  }

  #carryOut({ orders, guards }: View, own: readonly Kept[]): void {
    const done: number[] = [];
    for (const [partition, order] of orders) {
      const guard = guards[partition];
      const keeper = own[partition];
      if (guard === undefined || keeper === undefined) continue;
      // Seen after the order: not the guard that was there before it was lost.
      if (guard.epoch > 0 && this.#orders.has(partition)) done.push(partition);
      else if (order.kind === 'core' && keeper.kept === order.epoch) keeper.putBack();
    }
    if (done.length > 0) this.#done(done);
  }

  #done(partitions: readonly number[]): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.store
      .ordered(partitions)
      .catch((error: unknown) => this.trouble(error instanceof Error ? error : new Error(String(error))))
      .finally(() => {
        this.#isTelling = false;
      });
  }
}

/** Unset: no guard is missed. */
function kept(view: View, own: readonly Kept[], epochs: readonly number[]): Member['keeps'] {
  const { standing, guards, orders } = view;
  const isMissed = ({ partition, epoch }: Guard) =>
    standing !== 'own' || (epoch === 0 && ((epochs[partition] ?? 0) > 0 || orders.has(partition)));
  const missed = guards.filter(isMissed);
  if (missed.length === 0) return undefined;
  return missed.flatMap(({ partition }) => {
    const epoch = own[partition]?.kept;
    return epoch === undefined ? [] : [[partition, epoch] as const];
  });
}
