/** The row `core` on a heap of its own. Argument: `keyturn` or `map`. */
import { enQueueRequest, IGNORE, makeKeys, QUEUE, startCoordinator, TokenReply } from '../coordinator.js';
import { serveLaps } from '../heaps.js';
import { type Lap, perSecond } from '../rounds.js';

const KEYS = 10_000;
const PAIRS = 200_000;
/** The Map is faster: so many, that its laps last about as long. */
const MAP_PAIRS = 1_000_000;

const keys = makeKeys(KEYS);
serveLaps(process.argv[2] === 'map' ? mapLap() : keyturnLap());

function keyturnLap(): Lap {
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

function mapLap(): Lap {
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
