/** Traffic for the row of designs: the log of a real site if it is there, else made-up traffic; and traffic by Zipf's law. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { traffic as madeUp } from '../../src/cli/traffic.js';
import { Random } from '../../src/core/structures/random.js';
import { type Assumptions, trafficOf } from '../../src/designs/assumed.js';
import type { Traffic } from '../../src/designs/traffic.js';
import { zipf } from '../../src/designs/zipf.js';

/** From dist/bench/load. A stranger's clone has none; another one of this form is named by BENCH_LOG. */
const LOG =
  process.env['BENCH_LOG'] ?? fileURLToPath(new URL('../../../../shared/data/access-2015.tsv', import.meta.url));
const REQUESTS = 10_000;
const PATH = 3;

const MESSAGES = 50_000;
const KEYS = 10_000;

export const WORKERS = 32;
const ASSUMED = { workers: WORKERS, load: 0.6, work: 10, slowShare: 0.05, slowTimes: 100 };

/** For so much of the time one key is stuck. */
const STUCK = 0.5;

export const logName = existsSync(LOG) ? 'the log of a real site' : 'made-up requests of the shape of a real site';

/** 10,000 requests by path. */
export function requests(seed: number): Traffic {
  const text = existsSync(LOG) ? readFileSync(LOG, 'utf8') : [...madeUp(seed, REQUESTS)].join('');
  const lines = text.trimEnd().split('\n').slice(1);
  const index = new Map<string, number>();
  const keyOf = Uint32Array.from(lines, (line) => {
    const path = line.split('\t')[PATH] ?? '';
    const known = index.get(path) ?? index.size;
    index.set(path, known);
    return known;
  });
  return withStuckKey([...index.keys()], keyOf, seed);
}

/** 50,000 messages over 10,000 keys, the n-th key in proportion to 1/n. */
export function zipfKeys(seed: number): Traffic {
  const random = new Random(seed + 1_000);
  const pick = zipf(KEYS, 0);
  const keys = Array.from({ length: KEYS }, (_, key) => `customer-${key}`);
  return withStuckKey(
    keys,
    Uint32Array.from({ length: MESSAGES }, () => pick(random.next())),
    seed,
  );
}

function withStuckKey(keys: readonly string[], keyOf: Uint32Array, seed: number): Traffic {
  const known = { keys, keyOf, work: undefined, times: undefined };
  const assumed: Assumptions = { ...ASSUMED, seed, stuck: 0 };
  const span = trafficOf(known, assumed).at.at(-1) ?? 0;
  return trafficOf(known, { ...assumed, stuck: STUCK * span });
}
