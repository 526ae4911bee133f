import type { HomeEntry, Member, Registry } from '../registry/registry.js';
import type { MemberPartition } from './member-partition.js';
import type { Pauses } from './pauses.js';

/** It is said again after so many ms, though nothing changed. */
const AGAIN = 5_000;

/** What homes say to gateways. Who reads it late, or reads what is wrong, is told by the home that it asks. */
export class Publishing {
  #publishedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly registry: Pick<Registry, 'publish'>,
    private readonly pauses: Pauses,
    private readonly trouble: (error: Error) => void,
  ) {}

  /** Something changed: with the next look. */
  again(): void {
    this.#publishedAt = Number.NEGATIVE_INFINITY;
  }

  publish({ id, address }: Member, partitions: readonly MemberPartition[], now: number): void {
    if (now - this.#publishedAt < AGAIN) return;
    this.#publishedAt = now;
    const homes: HomeEntry[] = [];
    for (const { number, home, guard } of partitions) {
      if (home === undefined || guard === undefined) continue;
      const paused = this.pauses.of(number);
      homes.push({
        partition: number,
        epoch: guard.epoch,
        member: id,
        address,
        ...(paused !== undefined && { paused }),
      });
    }
    if (homes.length === 0) return;
    this.registry.publish(homes).catch((error: unknown) => {
      this.trouble(error instanceof Error ? error : new Error(String(error)));
    });
  }
}
