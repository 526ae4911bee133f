import { setImmediate as nextTurn } from 'node:timers/promises';
import { harmonicMean, type Round } from './measure.js';
import type { Say } from './row.js';

/** Does a fixed amount of work. Returns how much of it was done per second. */
export type Lap = () => Promise<number>;

export interface Plan {
  readonly rounds: number;
  /** Laps of each in one round. */
  readonly laps: number;
}

/**
 * Lap by lap in turn, so that what disturbs the machine disturbs both.
 *
 * A round has several laps because one lap would be either so long that the weather changes, or so short that the
 * garbage collector's work falls into some laps and not into others.
 */
export async function interleave(plan: Plan, say: Say, keyturn: Lap, peer: Lap, meters?: Meters): Promise<Round[]> {
  return inRounds(plan.rounds, say, async () => {
    const ofKeyturn = new Laps(keyturn, meters?.keyturn, meters?.operations);
    const ofPeer = new Laps(peer, meters?.peer, meters?.operations);
    for (let lap = 0; lap < plan.laps; lap++) {
      await ofKeyturn.run();
      await ofPeer.run();
    }
    const [cpu, peerCpu] = [ofKeyturn.cpu, ofPeer.cpu];
    const round = { value: ofKeyturn.rate, peer: ofPeer.rate };
    return { ...round, ...(cpu !== undefined && { cpu }), ...(peerCpu !== undefined && { peerCpu }) };
  });
}

/** CPU seconds since the start of the processes that are measured. */
export interface Meters {
  readonly keyturn: () => Promise<number>;
  readonly peer?: () => Promise<number>;
  /** Of a lap. */
  readonly operations: number;
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

/** Runs `round` once to warm up, and then `count` times for what it measures. */
export async function inRounds<T>(count: number, say: Say, round: () => Promise<T>): Promise<T[]> {
  say('warming up');
  await round();
  const measured: T[] = [];
  for (let index = 1; index <= count; index++) {
    say(`round ${index} of ${count}`);
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
