import type { Clock } from '../../local/clock.js';
import type { FollowedRoutes } from '../partitions/followed-routes.js';
import type { Member, Registry } from '../registry/registry.js';
import type { ClusterStore } from '../store/cluster-store.js';
import type { MemberWatcher } from './happenings.js';
import type { ReadsAhead } from './reading-ahead.js';
import type { Connect, Unlinked } from './remote-homes.js';
import type { RoutedHomeHost } from './routed-home.js';
import type { HeldUp } from './sending.js';
import type { MakeHome } from './tenure.js';

/** What a member is made of, and whom it tells. */
export interface MemberOptions {
  readonly clock: Clock;
  readonly store: ClusterStore;
  readonly registry: Registry;
  /** How many the cluster has, by its record. */
  readonly partitions: number;
  /** How long a session lives without being renewed, ms. */
  readonly ttl: number;
  /** What this member says of itself; called for each incarnation, with an id that is new each time. */
  readonly incarnation: () => Member;
  readonly makeHome: MakeHome;
  /** The record that this sidecar follows. */
  readonly routes: FollowedRoutes;
  /** Of a queue at a partition, by the routes as they are now. Unset: nothing is said of it there. */
  readonly policyAt: RoutedHomeHost['policyAt'];
  /** As `policyAt`, also of a queue that is not named but allowed. Unset: there is no such queue. */
  readonly policyTakenAt: RoutedHomeHost['policyTakenAt'];
  /** Routes are others now. */
  readonly rerouted?: () => void;
  readonly connect: Connect;
  readonly unlinked?: Unlinked;
  /** A partition is about to be handed over to this one, which is told then. */
  readonly handingOver?: (to: Member) => void;
  /** It was handed over: who is told now need not wait for its next look. `shutFor`: no call was let in for so long, ms. */
  readonly handedOver?: (partition: number, to: Member, shutFor: number) => void;
  /** Who is to be the next home reads the rows before it is. Unset: after it only. */
  readonly readsAhead?: ReadsAhead;
  /** What goes wrong; `partition` unset: with registry or store as a whole. `error` unset: it goes right again. */
  readonly trouble?: (error: Error | undefined, partition: number | undefined) => void;
  /** Follow-ups to other groups have been refused there for a while; unset: none are any more. */
  readonly heldUp?: (heldUp: HeldUp | undefined) => void;
  /** For metrics and the log. */
  readonly watcher?: MemberWatcher;
}
