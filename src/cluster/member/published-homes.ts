import type { Clock } from '../../local/clock.js';
import type { HomeEntry, Member, Registry } from '../registry/registry.js';
import type { MemberPartition } from './member-partition.js';
import type { Pauses } from './pauses.js';

/** What was said is said again after so many ms, though nothing changed. */
const AGAIN = 5_000;

interface PublishedHomesOptions {
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'publish'>;
  readonly pauses: Pauses;
  member(): Member;
  own(): readonly MemberPartition[];
  trouble(error: unknown): void;
}

/** What this member says of the partitions that it is the home of. Who reads it late, or what is wrong, is told by the home that it asks. */
export class PublishedHomes {
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: PublishedHomesOptions) {}

  /** There is something new to be said. */
  changed(): void {
    this.#saidAt = Number.NEGATIVE_INFINITY;
  }

  now(): void {
    this.changed();
    this.say();
  }

  say(): void {
    const { clock, registry, trouble } = this.options;
    const now = clock.now();
    if (now - this.#saidAt < AGAIN) return;
    this.#saidAt = now;
    const homes = this.#homes();
    if (homes.length > 0) registry.publish(homes).catch(trouble);
  }

  #homes(): readonly HomeEntry[] {
    const { pauses, member, own } = this.options;
    const { id, address } = member();
    const homes: HomeEntry[] = [];
    for (const { number, home, guard, routed } of own()) {
      if (home === undefined || guard === undefined) continue;
      const paused = pauses.of(number);
      const statement = routed?.statement;
      const entry = { partition: number, epoch: guard.epoch, member: id, address };
      homes.push({ ...entry, ...(paused !== undefined && { paused }), ...(statement && { statement }) });
    }
    return homes;
  }
}
