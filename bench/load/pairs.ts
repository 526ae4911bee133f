/** EnQueue+DeQueue pairs: the load of the rows that hold sessions against something. */
import type { Keyturn } from '@keyturn/client';
import { makeKeys, QUEUE } from '../coordinator.js';
import type { RedisLocks } from '../peers/redis.js';
import type { Lap } from '../rounds.js';
import { perSecondInFlight } from './in-flight.js';
import { outcomeValue, type SessionStream } from './session-stream.js';
import { deQueue, enQueue, turnOf } from './wire.js';

const KEYS = 10_000;
const IN_FLIGHT = 256;

/** Without a promise. A throw in here ends the process of the row. */
export function streamPairs(stream: SessionStream, pairs: number): Lap {
  const keys = makeKeys(KEYS);
  return () =>
    new Promise((resolve) => {
      const start = performance.now();
      let begun = 0;
      let done = 0;
      const begin = (): void => {
        if (begun === pairs) return;
        const key = keys[begun++ % KEYS] ?? '';
        stream.send(enQueue(key), (outcome) => {
          stream.send(deQueue(key, turnOf(outcomeValue(outcome, 'enqueue')).token), (last) => {
            outcomeValue(last, 'dequeue');
            if (++done === pairs) resolve((pairs * 1_000) / (performance.now() - start));
            else begin();
          });
        });
      };
      for (let lane = 0; lane < IN_FLIGHT; lane++) begin();
    });
}

/** As an application does it. */
export function clientPairs(keyturn: Keyturn, pairs: number): Lap {
  const keys = makeKeys(KEYS);
  return () => perSecondInFlight(pairs, IN_FLIGHT, (index) => clientPair(keyturn, keys[index % KEYS] ?? ''));
}

export async function clientPair(keyturn: Keyturn, key: string): Promise<void> {
  const answer = await keyturn.enQueue({ queue: QUEUE, key });
  if (answer.decision !== 'accept') throw new Error(`expected a turn, got ${answer.decision}`);
  await keyturn.deQueue({ queue: QUEUE, key, token: answer.turn.token });
}

export function lockPairs(locks: RedisLocks, pairs: number): Lap {
  const keys = makeKeys(KEYS);
  return () =>
    perSecondInFlight(pairs, IN_FLIGHT, async (index) => {
      const key = keys[index % KEYS] ?? '';
      const owner = String(index);
      await locks.lock(key, owner);
      await locks.unlock(key, owner);
    });
}
