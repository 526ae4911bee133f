/** What was measured on one machine of two cores, and what the simulation says of the same. */
import { type Load, Simulated } from './cluster.js';
import { MEASURED } from './costs.js';

export interface Of {
  readonly homes: number;
  readonly spread: number;
}

/** Of a pair; µs of CPU, of all homes together. */
export interface Point extends Of {
  readonly batches: number;
  readonly home: number;
  readonly gateway: number;
  readonly store: number;
}

/** The first three are what costs were fitted to; the last one is not. By `node dist/bench/scaling/measure.js`: 256 operations in flight over 10,000 keys, a Redis with `appendfsync always`. */
export const POINTS: readonly Point[] = [
  { homes: 1, spread: 1, batches: 0.016, home: 55.9, gateway: 26, store: 12.5 },
  { homes: 1, spread: 4, batches: 0.0692, home: 85.1, gateway: 40.3, store: 20.3 },
  { homes: 1, spread: 16, batches: 0.226, home: 144, gateway: 67.1, store: 38 },
  { homes: 1, spread: 8, batches: 0.146, home: 96.4, gateway: 73.1, store: 27.5 },
];

/** All processes on so many cores of one machine, as they were measured. */
export function simulated({ homes, spread }: Of, cores: number): Load {
  const shape = { homes, spread, gateways: 1, partitions: 64, inFlight: 256, keys: 10_000 };
  const costs = { ...MEASURED, latency: 20 };
  return new Simulated(costs, { ...shape, cores, evenly: true, registryInStore: true }).run();
}
