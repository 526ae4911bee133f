/** At the start: the cluster takes in where queues live that are new to it. Until then the sidecar is not ready. */
import { Rerouting } from '../../../cluster/member/rerouting.js';
import type { FollowedRoutes } from '../../../cluster/partitions/followed-routes.js';
import type { Registry } from '../../../cluster/registry/registry.js';
import type { ClusterStore } from '../../../cluster/store/cluster-store.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import type { Clock } from '../../../local/clock.js';
import { JournalError } from '../../../local/journal/journal.js';
import type { Logger } from '../../../observability/logger.js';
import { failStore } from './fail-store.js';
import { bringIn, newRoutes } from './new-routes.js';

/** Before it joins it waits for homes so long, ms. */
const BEFORE = 2_000;
/** ms */
const AGAIN = 250;

interface TakingInOptions {
  readonly clock: Clock;
  readonly settings: CoordinatorSettings;
  readonly routes: FollowedRoutes;
  readonly rerouting: Pick<Rerouting, 'bringIn'>;
  readonly log: Logger;
  /** What is new in the record is to be seen soon. */
  look(): void;
  isEnded(): boolean;
}

export class TakingIn {
  #isOver = false;

  constructor(private readonly options: TakingInOptions) {}

  /** Why the sidecar is not ready; unset: for nothing here. */
  get pending(): string | undefined {
    const names = this.#isOver ? [] : [...this.#left().keys()];
    return names.length === 0 ? undefined : `the cluster has not taken in yet where queues live: ${names.join(', ')}`;
  }

  /** Precondition: it has joined. @throws CommandFailure */
  async run(): Promise<void> {
    const { clock, isEnded, look } = this.options;
    for (let left = this.#left(); left.size > 0 && !isEnded(); left = this.#left()) {
      await this.#take(left);
      look();
      await new Promise<void>((resolve) => void clock.after(AGAIN, resolve));
    }
    this.#isOver = true;
  }

  async #take(left: ReturnType<typeof newRoutes>): Promise<void> {
    const { rerouting, clock, isEnded, log } = this.options;
    const took = (queue: string) => log.info({ queue }, 'the cluster has taken in where a queue lives');
    const trouble = await bringIn(left, { rerouting, clock, isEnded, took }).catch((error: unknown) => {
      if (error instanceof JournalError) return error.message;
      throw error;
    });
    if (trouble !== undefined && !isEnded()) log.warn(`where queues live is not taken in yet: ${trouble}`);
  }

  #left() {
    return newRoutes(this.options.settings, this.options.routes.now.record);
  }
}

interface Before extends Omit<TakingInOptions, 'rerouting' | 'look' | 'isEnded'> {
  readonly store: ClusterStore;
  readonly registry: Registry;
}

/**
 * Nobody calls by way of this sidecar yet: what is new to the cluster is empty now, if it ever is. Homes may be gone; then it is
 * tried again when this one has joined. @throws CommandFailure
 */
export async function takeInBefore({ store, registry, routes, settings, clock, log }: Before): Promise<void> {
  const { record } = routes.now;
  const left = newRoutes(settings, record);
  if (left.size === 0) return;
  const isEnded = () => false;
  const rerouting = new Rerouting({ clock, store, registry, record, settings, patience: BEFORE, isEnded });
  const took = (queue: string) => log.info({ queue }, 'the cluster has taken in where a queue lives');
  await bringIn(left, { rerouting, clock, isEnded, took }).catch(failStore('store'));
  const { record: now } = await store.look(0).catch(failStore('store'));
  if (now !== undefined) routes.follow(now);
}
