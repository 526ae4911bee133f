import type { Refusal } from '../../coordinator.js';
import type { Policy } from '../../core/contract/policy.js';
import type { HomeCoordinator } from '../../local/home.js';
import type { FollowedRoutes, Routes } from '../partitions/followed-routes.js';
import { aboveOf, changedBetween } from '../partitions/routes.js';
import type { Statement } from '../registry/registry.js';
import type { ClusterRecord, Rerouting } from '../store/cluster-store.js';
import type { BetweenGroups } from './between-groups.js';

/** When it is worth asking again, ms. */
const RETRY_AFTER = 50;

export interface RoutedHomeHost {
  readonly routes: FollowedRoutes;
  /** Of a queue at a partition, by the routes as they are now. Unset: nothing is said of it there. */
  policyAt(queue: string, partition: number): Policy | undefined;
  /** As `policyAt`, also of a queue that is not named but allowed. Unset: there is no such queue. */
  policyTakenAt(queue: string, partition: number): Policy | undefined;
  readonly between: BetweenGroups;
  /** There is something to be said to who changes routes. */
  said(partition: number): void;
}

/**
 * What routes mean for one core: which queues it takes. It goes with the routes that the sidecar follows, all in one step with the
 * router of this process. A queue that is to leave is given up only if nothing of it is here, and then until the record says what
 * became of that.
 */
export class RoutedHome {
  /** Those that the core goes by. */
  #routes: Routes;
  /** It is to leave, and was given up, or may have been by the home before. */
  #away: Rerouting | undefined;
  #statement: Statement | undefined;
  #isAsking = false;
  #isBegun = false;

  constructor(
    private readonly partition: number,
    private readonly home: HomeCoordinator,
    private readonly host: RoutedHomeHost,
  ) {
    this.#routes = host.routes.now;
  }

  /** What it says of the queue that is to leave; unset: nothing yet. */
  get statement(): Statement | undefined {
    return this.#statement;
  }

  /** The core is whole, and nobody was let in. The home before may have given up what is to leave, and that may be known already. */
  begin(): void {
    this.#isBegun = true;
    this.follow();
    this.#forgetWhatHasLeft();
    const { rerouting } = this.#routes.record;
    if (rerouting === undefined || !this.#has(rerouting.queue)) return;
    this.#away = rerouting;
    this.home.putAway(rerouting.queue, leaving(this.partition, rerouting.queue));
  }

  /** Goes by the routes as they are now. */
  follow(): void {
    if (!this.#isBegun) return;
    const before = this.#routes.record;
    this.#routes = this.host.routes.now;
    const { record } = this.#routes;
    const at = record.rerouting?.at;
    if (this.#statement?.at !== at) this.#statement = undefined;
    if (before.version !== record.version) this.#followPlaces(before, record);
    const away = this.#away;
    if (away === undefined || away.at === at) return;
    this.#away = undefined;
    // It was called off.
    if (this.#has(away.queue)) this.#receive(away.queue);
  }

  /** To be called again and again while it is open: gives up what is to leave. */
  look(): void {
    const { rerouting } = this.#routes.record;
    if (rerouting === undefined || this.#statement?.at === rerouting.at || this.#isAsking) return;
    if (this.#has(rerouting.queue)) this.#vacate(rerouting);
  }

  #vacate(rerouting: Rerouting): void {
    const { queue, acceptLoss, at } = rerouting;
    const vacated = this.home.vacate(queue, acceptLoss, leaving(this.partition, queue));
    // What is here goes on as before, unless it was put away at the beginning.
    if ('remains' in vacated) return this.#say({ at, remains: vacated.remains });
    this.#away = rerouting;
    this.#isAsking = true;
    void vacated.left.then((lastToken) => {
      this.#isAsking = false;
      // It may have been called off meanwhile.
      if (lastToken !== undefined && this.#away === rerouting) this.#say({ at, lastToken });
    });
  }

  #say(statement: Statement): void {
    this.#statement = statement;
    this.host.said(this.partition);
  }

  #followPlaces(before: ClusterRecord, after: ClusterRecord): void {
    for (const queue of changedBetween(before, after)) {
      if (this.#away?.queue === queue) this.#away = undefined;
      // All that had to be nothing was nothing, also of what stays here in another way.
      this.home.forget(queue);
      if (this.#has(queue)) this.#receive(queue);
      else this.home.putAway(queue, elsewhere(this.partition, queue));
    }
  }

  /** The home before may have ended when it had given a queue up, and before it had forgotten it. */
  #forgetWhatHasLeft(): void {
    for (const queue of Object.keys(this.#routes.record.routes)) if (!this.#has(queue)) this.home.forget(queue);
  }

  #receive(queue: string): void {
    this.home.receive(queue, this.host.policyAt(queue, this.partition), aboveOf(this.#routes.record, queue));
  }

  #has(queue: string): boolean {
    return this.#routes.map.partsIn(queue, this.partition).length > 0;
  }
}

function leaving(partition: number, queue: string): Refusal {
  const description = `queue ${JSON.stringify(queue)} is being routed anew ("keyturn cluster route"), and partition ${partition} takes nothing of it now`;
  return { kind: 'no_home', partition, description, retryAfter: RETRY_AFTER };
}

function elsewhere(partition: number, queue: string): Refusal {
  const description = `queue ${JSON.stringify(queue)} is not in partition ${partition} any more ("keyturn cluster route")`;
  return { kind: 'no_home', partition, description, retryAfter: RETRY_AFTER };
}
