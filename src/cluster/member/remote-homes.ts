import type { Coordinator } from '../../coordinator.js';
import type { HomeEntry } from '../registry/registry.js';

/** Makes the coordinator of a home elsewhere: a link to it. It is asked once for each claim. */
export type Connect = (home: HomeEntry) => Coordinator;

/** The homes elsewhere, as they were last heard of: one coordinator for each claim, the same for as long as that stands. */
export class RemoteHomes {
  readonly #known = new Map<number, { readonly home: HomeEntry; readonly coordinator: Coordinator }>();

  constructor(private readonly connect: Connect) {}

  get(partition: number): Coordinator | undefined {
    return this.#known.get(partition)?.coordinator;
  }

  /** The incarnation that is the home. */
  memberOf(partition: number): string | undefined {
    return this.#known.get(partition)?.home.member;
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
