import type { Clock } from '../../local/clock.js';
import type { FollowedRoutes } from '../partitions/followed-routes.js';
import { calledOff } from '../partitions/routes.js';
import { amend, revisionOf } from '../store/amend.js';
import type { ClusterRecord, ClusterStore } from '../store/cluster-store.js';
import { asError } from './as-error.js';
import type { RoutedHome } from './routed-home.js';

/** Who began a change of a route is gone, or it is called off by now, ms. */
const LONGEST_CHANGE = 30_000;

interface FollowingOptions {
  readonly clock: Clock;
  readonly store: Pick<ClusterStore, 'look' | 'changeRecord'>;
  readonly routes: FollowedRoutes;
  /** Of all cores that are here. */
  homes(): Iterable<RoutedHome>;
  /** The record is another one now: of its routes, or of what else stands in it. */
  followed?(): void;
  /** Routes are others now, or what rows may say of them, for all cores here: the router goes by them from this moment on. */
  rerouted(): void;
  trouble(error: Error): void;
}

/** All cores and the router of this process go by the same record, and by another one from one moment to the next. */
export class Following {
  /** The change that is under way, and since when it was seen. */
  #change: { readonly at: number; readonly since: number } | undefined;
  #isMending = false;

  constructor(private readonly options: FollowingOptions) {}

  /** A queue is being routed anew. */
  get isUnderWay(): boolean {
    return this.options.routes.now.record.rerouting !== undefined;
  }

  /** What stands in the store, or stood there a moment ago. */
  take(record: ClusterRecord): void {
    const { routes, homes } = this.options;
    const { map } = routes.now;
    if (!routes.follow(record)) return;
    for (const home of homes()) home.follow();
    this.options.followed?.();
    if (routes.now.map !== map) this.options.rerouted();
  }

  /** @throws JournalError */
  async catchUp(): Promise<void> {
    const { record } = await this.options.store.look(0);
    if (record !== undefined) this.take(record);
  }

  /** What was seen now, of a member that lives: the store may have lost what was there, and a change may be nobody's any more. */
  mend(record: ClusterRecord): void {
    const { routes, clock, store } = this.options;
    const known = routes.now.record;
    if (routes.isBehind(record)) return this.#mend(() => store.changeRecord(revisionOf(record), known));
    const at = known.rerouting?.at;
    if (at === undefined) this.#change = undefined;
    else if (this.#change?.at !== at) this.#change = { at, since: clock.now() };
    else if (clock.now() - this.#change.since >= LONGEST_CHANGE) this.#mend(() => callOff(store, known.id, at));
  }

  #mend(mend: () => Promise<unknown>): void {
    if (this.#isMending) return;
    this.#isMending = true;
    mend()
      .catch((error: unknown) => this.options.trouble(asError(error)))
      .finally(() => {
        this.#isMending = false;
      });
  }
}

/**
 * The queue stays where it is, unless that change is over by now.
 * @returns the record as it stands then; unset: there is none. @throws JournalError
 */
export function callOff(
  store: Pick<ClusterStore, 'look' | 'changeRecord'>,
  cluster: string,
  at: number,
): Promise<ClusterRecord | undefined> {
  return amend(store, (now) => (now.id === cluster && now.rerouting?.at === at ? calledOff(now) : undefined));
}
