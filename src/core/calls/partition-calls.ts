/** What one partition of a cluster and another say to each other about follow-ups of Acks, each as a step. */
import type { FollowUp, ItemRef, Reply } from '../contract/model.js';
import type { DeliverAnswer, DeliverRequest, FarEnd, Parcel } from '../contract/parcels.js';
import { FarPrerequisite } from '../state/dependencies.js';
import { deliver, type IsHere } from './deliver.js';
import { delivered, notTaken, parcelsFor, sendElsewhere } from './delivered.js';
import { Steps } from './steps.js';

export abstract class PartitionCalls extends Steps {
  /** What Acks of another partition want submitted here. It never waits. */
  deliver(request: DeliverRequest, reply: Reply<DeliverAnswer>, now: number, isHere: IsHere = everywhere): void {
    this.begin(now);
    deliver(this.state, request, reply, now, isHere);
    this.finish(undefined, now);
  }

  /** Partitions for which follow-ups of Acks are kept, and how many parcels that are. */
  get outgoing(): { readonly targets: readonly number[]; readonly size: number } {
    const { outgoing } = this.state;
    return { targets: [...outgoing.targets()], size: outgoing.size };
  }

  /** The next ones for this partition that are on disk, in order; they stay until it is known that they are there. */
  parcelsFor(target: number): readonly Parcel[] {
    return parcelsFor(this.state, target);
  }

  /** The partition has all parcels up to this stamp. */
  delivered(target: number, upTo: number, now: number): void {
    this.begin(now);
    delivered(this.state, target, upTo);
    this.finish(undefined, now);
  }

  /** The next parcel for this partition has a queue that is not there. @returns false: nothing has changed */
  sendElsewhere(target: number, targetOf: (followUp: FollowUp) => number, now: number): boolean {
    this.begin(now);
    return this.finish(sendElsewhere(this.state, target, targetOf), now);
  }

  /** The partition has no such queue, which the parcel of this stamp names. @returns false: nothing has changed */
  notTaken(target: number, stamp: number, queue: string, now: number): boolean {
    this.begin(now);
    return this.finish(notTaken(this.state, target, stamp, queue, now), now);
  }

  /** What items here wait for in other groups. The same object as long as it is waited for, one for each item that waits. */
  get far(): ReadonlySet<ItemRef> {
    return this.state.dependencies.far;
  }

  /** Its home said how it ended; `forgotten`: that it knows nothing of it any more. May be told again, and late. */
  farEnded(ref: ItemRef, end: FarEnd, now: number): void {
    this.begin(now);
    if (ref instanceof FarPrerequisite) this.state.dependencies.endFar(ref, end);
    this.finish(undefined, now);
  }
}

function everywhere(): true {
  return true;
}
