import type { LocalCoordinator } from '../../src/local/coordinator.js';
import { enQueueRequest, HOUR, makeKeys, startCoordinator, TokenReply } from '../coordinator.js';
import { bytesInUse } from '../heap.js';
import type { Round } from '../measure.js';
import { watchLoop } from '../pauses.js';
import { perSecond } from '../rounds.js';
import type { Row, Say } from '../row.js';

const LEASES = 1_000_000;
const ROUNDS = 6;
/** Between the last arrival and the first end there must be this much, ms: the machine comes to rest. */
const REST = 1_000;
/** So many times as long as the arrivals took before may they take again. */
const LEEWAY = 2;
/** ms */
const SECOND = 1_000;

const what =
  '1,000,000 leases that end in the same second: the longest pause of the event loop, ends spread over the second or all at one moment, whichever is worse';

export const expiry: Row = {
  what,
  limit: 1_200,
  async run(say) {
    const keys = makeKeys(LEASES);
    say('warming up');
    const filling = LEEWAY * (await warmUp(keys)) + REST;
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const told: Say = (progress) => say(`round ${round} of ${ROUNDS}, ${progress}`);
      const spread = await longestPause(keys, filling, (index) => (index * SECOND) / LEASES, told);
      const atOnce = await longestPause(keys, filling, () => 0, told);
      rounds.push({ value: Math.max(spread, atOnce), peer: undefined });
    }
    return {
      figures: [
        {
          part: undefined,
          what,
          unit: 'ms',
          peer: undefined,
          better: 'lower',
          enough: 10,
          aim: 5,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};

/** @returns how long the arrivals take, ms */
async function warmUp(keys: readonly string[]): Promise<number> {
  const coordinator = startCoordinator();
  const start = performance.now();
  await fill(coordinator, keys, () => HOUR);
  coordinator.close();
  return performance.now() - start;
}

/**
 * @param filling the first lease ends after this, ms; all have to be given before
 * @param offset when the lease of an index ends after that, ms
 */
async function longestPause(
  keys: readonly string[],
  filling: number,
  offset: (index: number) => number,
  say: Say,
): Promise<number> {
  say('filling');
  const coordinator = startCoordinator();
  const firstEnd = performance.now() + filling;
  await fill(coordinator, keys, (index) => firstEnd + offset(index) - performance.now());
  // Garbage of the filling is not what is measured.
  await bytesInUse();
  if (performance.now() > firstEnd) throw new Error(`the machine was too busy to give ${LEASES} leases in time`);
  say('waiting for the leases to end');
  const pause = await watchLoop(() => performance.now() < firstEnd || liveTurns(coordinator) > 0);
  coordinator.close();
  return pause;
}

/** A lease for each key. */
async function fill(
  coordinator: LocalCoordinator,
  keys: readonly string[],
  lease: (index: number) => number,
): Promise<void> {
  const reply = new TokenReply();
  await perSecond(keys.length, (index) => coordinator.enQueue(enQueueRequest(keys[index] ?? '', lease(index)), reply));
}

function liveTurns(coordinator: LocalCoordinator): number {
  return coordinator.stats().queues[0]?.view.liveTurns ?? 0;
}
