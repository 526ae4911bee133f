import { Random } from '../core/structures/random.js';
import { LONGEST_WORK, slowKeys, type Traffic } from './traffic.js';

/** Of the logarithm of a work time. With it the slowest of a hundred takes ten times the median. */
const SIGMA = 1;

/** What is supposed where nobody has measured. */
export interface Assumptions {
  readonly seed: number;
  readonly workers: number;
  /** The part of the workers' time that the work takes, above 0. */
  readonly load: number;
  /** Mean of the work that is not slow, ms. */
  readonly work: number;
  /** Up to this share of the messages belongs to slow keys. */
  readonly slowShare: number;
  /** How many times slower they are. */
  readonly slowTimes: number;
  /** One message of one key takes as long, ms. 0: none is stuck. */
  readonly stuck: number;
}

/** What a log tells. */
interface Known {
  readonly keys: readonly string[];
  readonly keyOf: Uint32Array;
  /** ms. Unset: it does not tell, work times are assumed. */
  readonly work: Float64Array | undefined;
  /** ms since whenever. Unset: they come by chance, at the same rate throughout (a Poisson process). */
  readonly times: Float64Array | undefined;
}

/**
 * The traffic of a log: what it tells, and for the rest what is assumed. Its time is stretched, or pressed together, until
 * the work takes the wanted part of the workers' time: what is stuck comes on top. The same seed gives the same traffic.
 */
export function trafficOf(known: Known, assumed: Assumptions): Traffic {
  const { keys, keyOf } = known;
  const work = known.work?.slice() ?? assumedWork(keys.length, keyOf, assumed);
  const span = sum(work) / (assumed.workers * assumed.load);
  const at = arrivals(keyOf.length, span, known.times, new Random(assumed.seed + 2));
  const quick = slowKeys(keys.length, keyOf, work);
  const stuck = assumed.stuck === 0 ? undefined : stuckMessage(keyOf, quick, assumed.seed);
  const stuckKey = stuck === undefined ? undefined : keyOf[stuck];
  if (stuck !== undefined) work[stuck] = assumed.stuck;
  return { keys, keyOf, at, work, slow: slowKeys(keys.length, keyOf, work, stuckKey) };
}

/** Log-normal, which is heavy-tailed, and longer by `slowTimes` for slow keys. */
function assumedWork(keys: number, keyOf: Uint32Array, assumed: Assumptions): Float64Array {
  const { seed, work, slowTimes } = assumed;
  const random = new Random(seed);
  const slow = chooseSlowKeys(keys, keyOf, assumed);
  return Float64Array.from(keyOf, (key) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const quick = work * Math.exp(SIGMA * normal - SIGMA ** 2 / 2);
    return Math.min(LONGEST_WORK, slow[key] === 1 ? quick * slowTimes : quick);
  });
}

/**
 * Keys by chance, until their messages are the wanted share. No key that would keep one worker busy for more than half of
 * the time: it would never catch up with itself, and no design can help it.
 */
function chooseSlowKeys(keys: number, keyOf: Uint32Array, assumed: Assumptions): Uint8Array {
  const { seed, workers, load, slowShare, slowTimes } = assumed;
  const counts = new Uint32Array(keys);
  for (const key of keyOf) counts[key] = (counts[key] ?? 0) + 1;
  const spanInWorks = (keyOf.length * (1 + slowShare * (slowTimes - 1))) / (workers * load);
  const slow = new Uint8Array(keys);
  let left = slowShare * keyOf.length;
  for (const key of shuffled(keys, new Random(seed + 1))) {
    const count = counts[key] ?? 0;
    if (count > left || count * slowTimes > spanInWorks / 2) continue;
    slow[key] = 1;
    left -= count;
  }
  return slow;
}

/** A message of the second tenth, by chance, of a key that is not slow: what is stuck from the start nobody has seen move. */
function stuckMessage(keyOf: Uint32Array, slow: Uint8Array, seed: number): number | undefined {
  const from = Math.floor(keyOf.length / 10);
  const first = from + Math.floor(new Random(seed + 3).next() * from);
  const found = keyOf.findIndex((key, message) => message >= first && slow[key] === 0);
  return found < 0 ? undefined : found;
}

function arrivals(count: number, span: number, times: Float64Array | undefined, random: Random): Float64Array {
  if (times !== undefined) return stretched(times, span);
  let at = 0;
  return Float64Array.from({ length: count }, () => {
    at -= (Math.log(1 - random.next()) * span) / count;
    return at;
  });
}

/** From 0 to `span`. A line that tells an earlier time than the one before it came with that one. */
function stretched(times: Float64Array, span: number): Float64Array {
  const first = times[0] ?? 0;
  let latest = first;
  const since = times.map((time) => {
    latest = Math.max(latest, time);
    return latest - first;
  });
  return latest === first ? since : since.map((time) => (time * span) / (latest - first));
}

function shuffled(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor(random.next() * (at + 1));
    const held = order[at] ?? 0;
    order[at] = order[other] ?? 0;
    order[other] = held;
  }
  return order;
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
