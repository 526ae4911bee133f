import { setImmediate as nextTurn } from 'node:timers/promises';
import { isWithin, medianInterval, NARROW } from './against/interval.js';
import { harmonicMean, type Round } from './measure.js';
import type { Say } from './row.js';

/** Does a fixed amount of work. Returns how much of it was done per second. */
export type Lap = () => Promise<number>;

/** How often a row measures. */
export interface Rounds {
  /** At least so many. Fewer than six have no interval. */
  readonly rounds: number;
  /** At most so many, where the interval is not narrow before. Unset: no more than at least. */
  readonly most?: number;
  /** It is narrow when neither bound is further from the median than this share of it. Unset: as {@link NARROW} says. */
  readonly within?: number;
  /** No round beyond the least begins after this, s. Unset: {@link LONGEST}. */
  readonly longest?: number;
}

/** So that no row makes the whole too long, however busy the machine is. */
const LONGEST = 30;

export interface Plan extends Rounds {
  /** Laps of each in one round. */
  readonly laps: number;
}

/**
 * Lap by lap in turn, so that what disturbs the machine disturbs both. Who comes first finds what the other left behind:
 * each comes first as often.
 *
 * A round has several laps because one lap would be either so long that the weather changes, or so short that the
 * garbage collector's work falls into some laps and not into others.
 */
export async function interleave(plan: Plan, say: Say, keyturn: Lap, peer: Lap, meters?: Meters): Promise<Round[]> {
  let pairs = 0;
  const round = async (): Promise<Round> => {
    const ofKeyturn = new Laps(keyturn, meters?.keyturn, meters?.operations);
    const ofPeer = new Laps(peer, meters?.peer, meters?.peerOperations ?? meters?.operations);
    for (let lap = 0; lap < plan.laps; lap++)
      for (const side of pairs++ % 2 === 0 ? [ofKeyturn, ofPeer] : [ofPeer, ofKeyturn]) await side.run();
    const [cpu, peerCpu] = [ofKeyturn.cpu, ofPeer.cpu];
    const measured = { value: ofKeyturn.rate, peer: ofPeer.rate };
    return { ...measured, ...(cpu !== undefined && { cpu }), ...(peerCpu !== undefined && { peerCpu }) };
  };
  return inRounds(plan, say, round, judged);
}

/** What of a round the interval is about. */
export function judged({ value, peer }: Round): number {
  return peer === undefined ? value : value / peer;
}

/** Of rounds that are rates per second of CPU time, what an operation takes. */
export function withCpuTime(rounds: readonly Round[]): Round[] {
  return rounds.map((round) => {
    const { value, peer } = round;
    return { ...round, cpu: 1e6 / value, ...(peer !== undefined && { peerCpu: 1e6 / peer }) };
  });
}

/** CPU seconds since the start of the processes that are measured. */
export interface Meters {
  readonly keyturn: () => Promise<number>;
  readonly peer?: () => Promise<number>;
  /** Of a lap. */
  readonly operations: number;
  /** Of the peer's. Unset: as many. */
  readonly peerOperations?: number;
}

/** The laps of one side in a round. */
class Laps {
  readonly #rates: number[] = [];
  #cpuSeconds = 0;

  constructor(
    private readonly lap: Lap,
    private readonly cpuSeconds: (() => Promise<number>) | undefined,
    private readonly operations = 0,
  ) {}

  async run(): Promise<void> {
    const before = (await this.cpuSeconds?.()) ?? 0;
    this.#rates.push(await this.lap());
    this.#cpuSeconds += ((await this.cpuSeconds?.()) ?? 0) - before;
  }

  get rate(): number {
    return harmonicMean(this.#rates);
  }

  /** Of an operation, µs. Unset: nobody looked. */
  get cpu(): number | undefined {
    if (this.cpuSeconds === undefined) return undefined;
    return (this.#cpuSeconds * 1e6) / (this.operations * this.#rates.length);
  }
}

/**
 * Runs `round` once to warm up, and then until what it measures is known well enough, within the bounds of the plan.
 *
 * @param of what the interval is about, where there are several each of them. Unset: as many rounds as at least
 */
export async function inRounds<T>(
  plan: Rounds,
  say: Say,
  round: () => Promise<T>,
  ...of: readonly ((measured: T) => number)[]
): Promise<T[]> {
  const { rounds: least, most = least, within = NARROW, longest = LONGEST } = plan;
  say('warming up');
  await round();
  const measured: T[] = [];
  const end = performance.now() + 1_000 * longest;
  const isKnown = () => of.every((each) => isWithin(medianInterval(measured.map(each)), within));
  while (measured.length < least || (measured.length < most && performance.now() < end && !isKnown())) {
    say(`round ${measured.length + 1} of ${measured.length < least ? least : most}`);
    measured.push(await round());
  }
  return measured;
}

/** The event loop gets its say after this many, so that timers run as they do in a server. */
const BATCH = 10_000;

/** Runs `one` for each index in turn. Returns how many ran per second. */
export async function perSecond(count: number, one: (index: number) => void): Promise<number> {
  const start = performance.now();
  for (let from = 0; from < count; from += BATCH) {
    const to = Math.min(count, from + BATCH);
    for (let index = from; index < to; index++) one(index);
    await nextTurn();
  }
  return (count * 1_000) / (performance.now() - start);
}
