/** Queues that are new to a cluster: this configuration says where they live, and the record of the cluster does not yet. */
import type { Rerouting } from '../../../cluster/member/rerouting.js';
import { routesIn } from '../../../cluster/partitions/partition-settings.js';
import { isNamed, type Place } from '../../../cluster/partitions/routes.js';
import type { ClusterRecord } from '../../../cluster/store/cluster-store.js';
import type { CoordinatorSettings, Refusal } from '../../../coordinator.js';
import { pastedCommand } from '../../../core/contract/pasted-command.js';
import type { Clock } from '../../../local/clock.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';
import { differsInRoute } from './record.js';

/** Others may change routes at the same time, one after the other, ms. */
const PATIENCE = 30_000;
/** ms */
const AGAIN = 250;

/** By name. */
type NewRoutes = ReadonlyMap<string, Place>;

export function newRoutes(settings: Pick<CoordinatorSettings, 'queues'>, record: ClusterRecord): NewRoutes {
  const all = Object.entries(routesIn(settings));
  return new Map(all.filter(([queue]) => !isNamed(record, queue)));
}

interface BringingIn {
  readonly rerouting: Pick<Rerouting, 'bringIn'>;
  readonly clock: Clock;
  isEnded(): boolean;
  /** It was taken into the record. */
  took(queue: string): void;
}

/**
 * All of them are taken into the record, and homes go by it.
 * @returns why one was not, for a reason that passes by itself; unset: all were
 * @throws CommandFailure when another one said something else of a queue, or it is in use where it is
 */
export async function bringIn(routes: NewRoutes, around: BringingIn): Promise<string | undefined> {
  for (const [queue, place] of routes) {
    const trouble = await bringInOne(queue, place, around);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}

async function bringInOne(
  queue: string,
  place: Place,
  { rerouting, clock, isEnded, took }: BringingIn,
): Promise<string | undefined> {
  const begun = clock.now();
  for (;;) {
    const result = await rerouting.bringIn(queue, place);
    if (result.ok) {
      const { route, isChanged } = result.value;
      const wrong = differsInRoute(queue, place, route);
      if (wrong !== undefined) throw new CommandFailure(wrong, EXIT.failure);
      if (isChanged) took(queue);
      return undefined;
    }
    const { refusal } = result;
    if (refusal.kind !== 'limit') return passing(queue, refusal);
    if (isEnded() || clock.now() - begun >= PATIENCE) return refusal.description;
    await new Promise<void>((resolve) => void clock.after(AGAIN, resolve));
  }
}

/** @throws CommandFailure */
function passing(queue: string, refusal: Refusal): string {
  const why = 'description' in refusal ? refusal.description : refusal.kind;
  const isPassing = refusal.kind === 'no_home' || refusal.kind === 'store_unavailable' || refusal.kind === 'draining';
  if (isPassing) return why;
  throw new CommandFailure(
    `queues.${queue}: the cluster does not know its group or spread yet, and cannot take it in: ${why}; or leave it out, and say it later with "${pastedCommand(['cluster', 'route'], [queue])}"`,
    EXIT.failure,
  );
}
