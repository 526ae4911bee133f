/** What looks at all partitions and the record together, or changes both. */
import type { ClusterRecord, ClusterStore, Guard } from '../cluster-store.js';
import { guardOf, plainGuard } from './guard-answer.js';
import { ownKey } from './keys.js';
import { FIELDS } from './scripts.js';

export type Whole = Pick<ClusterStore, 'guards' | 'look' | 'restoreRecord' | 'withdrawRecord'>;

export interface WholeSettings {
  readonly cluster: string;
  /** How many replicas must have what is written. */
  readonly replicas: number;
}

interface GuardRequest {
  readonly partition: number;
  readonly key: string;
  readonly args: readonly string[];
}

/** For the guards of all partitions. */
export function guardRequests(cluster: string, partitions: number): readonly GuardRequest[] {
  return Array.from({ length: partitions }, (_, partition) => {
    const key = ownKey(cluster, partition);
    return { partition, key, args: ['HMGET', key, ...FIELDS] };
  });
}

export function guardIn(partition: number, answer: unknown): Guard {
  return plainGuard(guardOf(partition, answer));
}

/** Partitions of which another cluster may have had guards. @param stands what stands there; @param seen id of that, or empty */
export function theirPartitions(stands: ClusterRecord | undefined, seen: string): number {
  return seen === '' ? 0 : (stands?.partitions ?? 0);
}
