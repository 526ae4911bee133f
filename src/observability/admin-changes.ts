/** How often people changed something: what an operator looks at first when a queue behaves in another way than before. */
import { CHANGING_CALLS } from '../coordinator.js';
import type { FinishedCall } from './call-durations.js';
import type { Sample } from './plain.js';

const METHODS: readonly (readonly [service: string, method: string])[] = [
  ...CHANGING_CALLS.map((kind) => ['AdminService', kind] as const),
  ['LeaderService', 'yieldLeader'],
];

/** By the path of the call, under the name that the label has. The others only look. */
const CHANGING: ReadonlyMap<string, string> = new Map(
  METHODS.map(([service, method]) => [
    `/keyturn.v1.${service}/${method.charAt(0).toUpperCase()}${method.slice(1)}`,
    method.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ]),
);

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
