import type { Coordinator } from '../../coordinator.js';
import type { HomeEntry } from '../registry/registry.js';

/** Makes the coordinator of a home elsewhere: a link to it. It is asked once for each claim. */
export type Connect = (home: HomeEntry) => Coordinator;

/** Why there is no link to that incarnation; `undefined`: there is one, or none is wanted. For people. */
export type Unlinked = (member: string) => string | undefined;

/** The homes elsewhere, as they were last heard of: one coordinator for each claim, the same for as long as that stands. */
export class RemoteHomes {
  readonly #known = new Map<number, { readonly home: HomeEntry; readonly coordinator: Coordinator }>();

  constructor(
    private readonly connect: Connect,
    private readonly unlinked: Unlinked | undefined,
  ) {}

  get(partition: number): Coordinator | undefined {
    return this.#known.get(partition)?.coordinator;
  }

  /** The incarnation that is the home. */
  memberOf(partition: number): string | undefined {
    return this.#known.get(partition)?.home.member;
  }

  /** Why the home does not get calls from here. */
  problemOf(partition: number): string | undefined {
    const home = this.memberOf(partition);
    return home === undefined ? undefined : this.unlinked?.(home);
  }

  /** The incarnations that are homes. */
  get members(): ReadonlySet<string> {
    return new Set([...this.#known.values()].map(({ home }) => home.member));
  }

  /** @returns whether that is news */
  set(partition: number, home: HomeEntry | undefined): boolean {
    const known = this.#known.get(partition);
    if (home === undefined) return this.#known.delete(partition);
    if (known?.home.member === home.member && known.home.epoch === home.epoch && known.home.address === home.address)
      return false;
    this.#known.set(partition, { home, coordinator: this.connect(home) });
    return true;
  }
}
