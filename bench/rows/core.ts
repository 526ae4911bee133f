import { enQueueRequest, IGNORE, makeKeys, QUEUE, startCoordinator, TokenReply } from '../coordinator.js';
import { interleave, perSecond } from '../rounds.js';
import type { Row } from '../row.js';

const KEYS = 10_000;
const PAIRS = 200_000;
/** The Map is faster: so many, that its laps last about as long. */
const MAP_PAIRS = 1_000_000;
const PLAN = { rounds: 9, laps: 4 };

const what = 'EnQueue+DeQueue in process, 10,000 keys, leases armed, metrics counted';

export const core: Row = {
  what,
  limit: 120,
  async run(say) {
    const keys = makeKeys(KEYS);
    const rounds = await interleave(PLAN, say, keyturnLap(keys), mapLap(keys));
    return {
      figures: [
        {
          part: undefined,
          what,
          unit: 'pairs/s',
          peer: 'bare Map: set+get+delete of a small object',
          better: 'higher',
          enough: 0.12,
          aim: 0.2,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};

function keyturnLap(keys: readonly string[]): () => Promise<number> {
  const coordinator = startCoordinator();
  const reply = new TokenReply();
  return () =>
    perSecond(PAIRS, (index) => {
      const key = keys[index % KEYS] ?? '';
      coordinator.enQueue(enQueueRequest(key), reply);
      const holder = { token: reply.token };
      coordinator.deQueue({ queue: QUEUE, key, holder, abandoned: false, result: undefined }, IGNORE);
    });
}

function mapLap(keys: readonly string[]): () => Promise<number> {
  const map = new Map<string, { readonly token: number; readonly since: number }>();
  let token = 0;
  return () =>
    perSecond(MAP_PAIRS, (index) => {
      const key = keys[index % KEYS] ?? '';
      token += 1;
      map.set(key, { token, since: index });
      if (map.get(key)?.token !== token) throw new Error('the Map lost a key');
      map.delete(key);
    });
}
