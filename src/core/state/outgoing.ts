/**
 * What goes from one partition of a cluster to another: follow-ups of Acks to queues of other groups. A parcel is kept here
 * from its Ack until the other partition is known to have it; there it is known by its stamp. Only parcels leave that are on disk.
 */
import type { FollowUp, PrincipalName } from '../contract/model.js';
import type { Parcel } from '../contract/parcels.js';
import type { Account } from './accounts.js';

export class OutgoingParcel implements Parcel {
  /** Its row is in the store: it may be sent. */
  isWritten = false;
  constructor(
    readonly stamp: number,
    /** The partition to which it goes. */
    readonly target: number,
    /** The queue of the Ack. */
    readonly from: string,
    readonly followUps: readonly FollowUp[],
    /** As they are charged against payload memory. */
    readonly bytes: number,
    /** What its items need of `limits.memory_bytes` where they go, besides: each a key that is new there. */
    readonly laneBytes: number,
    /** What it is charged to while it stands in its line; `undefined`: nobody. */
    readonly account?: Account | undefined,
  ) {}

  get principal(): PrincipalName {
    return this.account?.principal;
  }

  get cost(): number {
    return this.bytes + this.laneBytes;
  }
}

/** A parcel of another partition that finds no room here now. */
interface HeldUp {
  /** The first of its items. */
  readonly items: readonly { readonly queue: string; readonly key: string; readonly itemId: string | undefined }[];
  readonly why: string;
  readonly at: number;
}

export class Outgoing {
  /** By the partition to which they go; each line in the order of stamps, which is that of the Acks. Never an empty one. */
  readonly #lines = new Map<number, Map<number, OutgoingParcel>>();
  /** What was refused last of other partitions, by those. */
  readonly heldUp = new Map<number, HeldUp>();
  /** The stamp up to which all parcels of another partition are here. */
  readonly inbox = new Map<number, number>();
  #size = 0;
  /** Room that is kept for the arrival of all parcels; the rest of them is payload memory. */
  laneBytes = 0;

  /** Parcels of all lines. */
  get size(): number {
    return this.#size;
  }

  /** The partitions for which there is something. */
  targets(): Iterable<number> {
    return this.#lines.keys();
  }

  /** In the order of their stamps. */
  line(target: number): Iterable<OutgoingParcel> {
    return this.#lines.get(target)?.values() ?? [];
  }

  *all(): Generator<OutgoingParcel> {
    for (const line of this.#lines.values()) yield* line.values();
  }

  has({ target, stamp }: OutgoingParcel): boolean {
    return this.#lines.get(target)?.has(stamp) === true;
  }

  /** Precondition: its stamp is larger than those in its line. */
  add(parcel: OutgoingParcel): void {
    const line = this.#lines.get(parcel.target) ?? new Map<number, OutgoingParcel>();
    if (line.size === 0) this.#lines.set(parcel.target, line);
    line.set(parcel.stamp, parcel);
    this.#size += 1;
    this.laneBytes += parcel.laneBytes;
    parcel.account?.change(parcel.cost);
  }

  /** In the place of the one with its stamp. Precondition: that one is there. */
  replace(parcel: OutgoingParcel): void {
    const line = this.#lines.get(parcel.target);
    const before = line?.get(parcel.stamp);
    if (line === undefined || before === undefined) throw new TypeError(`no parcel ${parcel.stamp}`);
    line.set(parcel.stamp, parcel);
    this.laneBytes += parcel.laneBytes - before.laneBytes;
    before.account?.change(-before.cost);
    parcel.account?.change(parcel.cost);
  }

  /** Precondition: it is there. */
  delete(parcel: OutgoingParcel): void {
    const { target, stamp, laneBytes } = parcel;
    const line = this.#lines.get(target);
    if (line?.delete(stamp) !== true) return;
    this.#size -= 1;
    this.laneBytes -= laneBytes;
    parcel.account?.change(-parcel.cost);
    if (line.size === 0) this.#lines.delete(target);
  }
}
