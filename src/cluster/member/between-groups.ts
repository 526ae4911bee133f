import type { Clock } from '../../local/clock.js';
import type { HomeCoordinator } from '../../local/home.js';
import type { FollowedRoutes } from '../partitions/followed-routes.js';
import type { Homes } from '../partitions/homes.js';
import { Asking } from './asking.js';
import { type HeldUp, Sending } from './sending.js';

/** What a member does for steps that reach several groups: carries what goes to others, and asks for what is waited for there. */
export class BetweenGroups {
  readonly #sending: Sending;
  readonly #asking: Asking;

  /**
   * @param own of a partition that this member is the home of now
   * @param heldUp follow-ups have been refused for a while; unset: none are any more
   */
  constructor(
    private readonly clock: Clock,
    homes: Pick<Homes, 'home' | 'onChange' | 'partitions'>,
    own: (partition: number) => HomeCoordinator | undefined,
    routes: FollowedRoutes,
    heldUp: (heldUp: HeldUp | undefined) => void = () => undefined,
  ) {
    this.#sending = new Sending(clock, homes, own, routes, heldUp);
    this.#asking = new Asking(clock, homes, own, routes);
  }

  /** Of all partitions that this member is the home of: not known to be there. */
  get parcels(): number {
    return this.#sending.parcels;
  }

  /** For how long the other partition has refused what waits longest to go there, ms. */
  get heldUpFor(): number {
    const { heldUp } = this.#sending;
    return heldUp === undefined ? 0 : this.clock.now() - heldUp.since;
  }

  /** Parcels of this partition for that one can be sent. */
  hasParcels(partition: number, target: number): void {
    this.#sending.ready(partition, target);
  }

  /** Items of this partition began to wait for items of other groups. */
  awaitsFar(partition: number): void {
    this.#asking.ready(partition);
  }

  end(): void {
    this.#sending.end();
    this.#asking.end();
  }
}
