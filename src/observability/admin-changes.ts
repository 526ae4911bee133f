/** How often people changed something: what an operator looks at first when a queue behaves in another way than before. */
import type { FinishedCall } from './call-durations.js';
import type { Sample } from './plain.js';

/** By the path of the call, under the name that the label has. The others only look. */
const CHANGING: ReadonlyMap<string, string> = new Map([
  ...[
    ['EvictHolder', 'evict_holder'],
    ['RetryNow', 'retry_now'],
    ['ResumeKey', 'resume_key'],
    ['PauseQueue', 'pause_queue'],
    ['ResumeQueue', 'resume_queue'],
    ['SetLimits', 'set_limits'],
    ['Redrive', 'redrive'],
    ['Discard', 'discard'],
    ['MovePartition', 'move_partition'],
    ['RestorePartitions', 'restore_partitions'],
    ['FinalizeCluster', 'finalize_cluster'],
    ['RouteQueue', 'route_queue'],
  ].map(([method = '', call = '']) => [`/keyturn.v1.AdminService/${method}`, call] as const),
  ['/keyturn.v1.LeaderService/YieldLeader', 'yield_leader'],
]);

/** @param path of the call, as `/keyturn.v1.AdminService/EvictHolder` */
export function changes(path: string): boolean {
  return CHANGING.has(path);
}

export class AdminChanges {
  /** All from the start: a counter that first appears at 1 has grown by nothing, for who asks for its growth. */
  readonly #counts = new Map([...CHANGING.values()].map((call) => [call, 0]));

  observe({ method, code }: FinishedCall): void {
    const call = code === 'OK' ? CHANGING.get(method) : undefined;
    if (call !== undefined) this.#counts.set(call, (this.#counts.get(call) ?? 0) + 1);
  }

  samples(): readonly Sample[] {
    return [...this.#counts].map(([call, value]) => ({ labels: { call }, value }));
  }
}
