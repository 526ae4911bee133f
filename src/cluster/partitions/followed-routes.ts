import { revisionOf } from '../store/amend.js';
import type { ClusterRecord } from '../store/cluster-store.js';
import { formatOf } from '../store/format.js';
import type { PartitionMap } from './partition-map.js';
import { mapOf } from './routes.js';

/** A record, and the map that its routes mean. */
export interface Routes {
  readonly record: ClusterRecord;
  readonly map: PartitionMap;
}

/**
 * The newest record that this sidecar has seen. An older one that is found again is what a store shows that fell back: nobody goes
 * back to it.
 */
export class FollowedRoutes {
  #now: Routes;

  constructor(record: ClusterRecord) {
    this.#now = { record, map: mapOf(record) };
  }

  /** Another object after each change of the record; of the map only after one of routes, or of the format that is fixed. */
  get now(): Routes {
    return this.#now;
  }

  get version(): number {
    return this.#now.record.version;
  }

  get revision(): number {
    return revisionOf(this.#now.record);
  }

  /** @returns whether it is newer */
  follow(record: ClusterRecord): boolean {
    const { record: known, map } = this.#now;
    if (record.id !== known.id || revisionOf(record) <= revisionOf(known)) return false;
    const isSame = record.version === known.version && formatOf(record) === formatOf(known);
    this.#now = { record, map: isSame ? map : mapOf(record) };
    return true;
  }

  /** The store has lost what was seen there. */
  isBehind(record: ClusterRecord): boolean {
    const { record: known } = this.#now;
    return record.id === known.id && revisionOf(record) < revisionOf(known);
  }
}
