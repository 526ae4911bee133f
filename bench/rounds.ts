import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Round } from './measure.js';
import type { Say } from './row.js';

type Lap = () => number | Promise<number>;

/** Interleaved, so that what disturbs the machine disturbs both. The first round of each only warms up. */
export async function interleave(count: number, say: Say, keyturn: Lap, peer: Lap): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let lap = 0; lap <= count; lap++) {
    say(lap === 0 ? 'warming up' : `round ${lap} of ${count}`);
    const round = { value: await keyturn(), peer: await peer() };
    if (lap > 0) rounds.push(round);
  }
  return rounds;
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
