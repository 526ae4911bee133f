import {
  enQueueRequest,
  HOUR,
  IGNORE,
  keyOf,
  makeKeys,
  newItem,
  QUEUE,
  startCoordinator,
  TokenReply,
} from '../coordinator.js';
import { bytesInUse } from '../heap.js';
import type { Figure, Round } from '../measure.js';
import { perSecond } from '../rounds.js';
import type { Row, Say } from '../row.js';

const TURNS = 1_000_000;
const ITEMS = 1_000_000;
const ITEM_KEYS = 100_000;
const BATCH = 1_000;
/** Both beyond the 100,000 idle lanes that are remembered. */
const PASSED_BEFORE = 200_000;
const PASSED = 1_000_000;
const ROUNDS = 6;

export const memory: Row = {
  what: 'bytes of heap per live turn; per waiting item without its payload; per lane after it went idle and left the LRU',
  limit: 1_200,
  async run(say) {
    return {
      figures: [
        {
          part: 'live turn',
          what: "1,000,000 live turns, a key each; the keys' own strings are not counted, as if they lived in the request",
          ...limits(280, 200),
          outcome: await measure('live turns', say, perLiveTurn),
        },
        {
          part: 'waiting item',
          what: '1,000,000 items submitted over 100,000 keys, ids made by the server and counted, keys and payloads not',
          ...limits(230, 160),
          outcome: await measure('waiting items', say, perWaitingItem),
        },
        {
          part: 'idle lane',
          what: 'growth from 200,000 to 1,000,000 keys that had their turn, everything counted',
          ...limits(8, 0),
          outcome: await measure('idle lanes', say, perIdleLane),
        },
      ],
    };
  },
};

function limits(enough: number, aim: number): Pick<Figure, 'unit' | 'peer' | 'better' | 'enough' | 'aim'> {
  return { unit: 'bytes', peer: undefined, better: 'lower', enough, aim };
}

async function measure(name: string, say: Say, bytes: () => Promise<number>): Promise<Figure['outcome']> {
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    say(`${name}, round ${round} of ${ROUNDS}`);
    // Whole bytes: what remains is the noise of the heap.
    rounds.push({ value: Math.max(0, Math.round(await bytes())), peer: undefined });
  }
  return { is: 'measured', rounds };
}

async function perLiveTurn(): Promise<number> {
  const keys = makeKeys(TURNS);
  const coordinator = startCoordinator({ lease: HOUR });
  const reply = new TokenReply();
  const before = await bytesInUse();
  await perSecond(TURNS, (index) => coordinator.enQueue(enQueueRequest(keys[index] ?? ''), reply));
  const grown = (await bytesInUse()) - before;
  mustHold(coordinator.stats().queues[0]?.view.liveTurns, TURNS);
  mustHold(keys.length, TURNS);
  coordinator.close();
  return grown / TURNS;
}

async function perWaitingItem(): Promise<number> {
  const keys = makeKeys(ITEM_KEYS);
  const coordinator = startCoordinator();
  const before = await bytesInUse();
  await perSecond(ITEMS / BATCH, (batch) => {
    const items = Array.from({ length: BATCH }, (_, index) => newItem(keys[(batch * BATCH + index) % ITEM_KEYS] ?? ''));
    coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, IGNORE);
  });
  const grown = (await bytesInUse()) - before;
  mustHold(coordinator.stats().queues[0]?.view.waitingItems, ITEMS);
  mustHold(keys.length, ITEM_KEYS);
  coordinator.close();
  return grown / ITEMS;
}

async function perIdleLane(): Promise<number> {
  const coordinator = startCoordinator();
  const reply = new TokenReply();
  const pass = (index: number) => {
    const key = keyOf(index);
    coordinator.enQueue(enQueueRequest(key), reply);
    const holder = { token: reply.token };
    coordinator.deQueue({ queue: QUEUE, key, holder, abandoned: false, result: undefined }, IGNORE);
  };
  await perSecond(PASSED_BEFORE, pass);
  const before = await bytesInUse();
  await perSecond(PASSED - PASSED_BEFORE, (index) => pass(PASSED_BEFORE + index));
  const grown = (await bytesInUse()) - before;
  mustHold(coordinator.stats().queues[0]?.view.liveTurns, 0);
  coordinator.close();
  return grown / (PASSED - PASSED_BEFORE);
}

/** Also keeps what was measured from being collected before it was. */
function mustHold(actual: number | undefined, expected: number): void {
  if (actual !== expected) throw new Error(`expected ${expected}, found ${actual}`);
}
