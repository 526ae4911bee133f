/** The row `growth` on a heap of its own. Arguments: `keyturn` or `map`, and how many live keys. */
import { enQueueRequest, HOUR, IGNORE, makeKeys, QUEUE, startCoordinator, TokenReply } from '../coordinator.js';
import { serveLaps } from '../heaps.js';
import { type Lap, perSecond } from '../rounds.js';
import { shuffled } from '../shuffle.js';

/** The same at every size. */
const PAIRS = 500_000;

const size = Number(process.argv[3]);
const keys = makeKeys(size);
const order = shuffled(size, PAIRS);
serveLaps(process.argv[2] === 'map' ? mapLap() : await keyturnLap());

async function keyturnLap(): Promise<Lap> {
  const coordinator = startCoordinator({ lease: HOUR });
  const reply = new TokenReply();
  const tokens = new Float64Array(size);
  const enQueue = (at: number) => {
    coordinator.enQueue(enQueueRequest(keys[at] ?? ''), reply);
    tokens[at] = reply.token;
  };
  await perSecond(size, enQueue);
  return () =>
    perSecond(PAIRS, (index) => {
      const at = order[index] ?? 0;
      const holder = { token: tokens[at] ?? 0 };
      coordinator.deQueue({ queue: QUEUE, key: keys[at] ?? '', holder, abandoned: false, result: undefined }, IGNORE);
      enQueue(at);
    });
}

function mapLap(): Lap {
  const map = new Map<string, { readonly token: number; readonly since: number }>();
  keys.forEach((key, token) => {
    map.set(key, { token, since: 0 });
  });
  return () =>
    perSecond(PAIRS, (index) => {
      const at = order[index] ?? 0;
      const key = keys[at] ?? '';
      if (map.get(key)?.token !== at) throw new Error('the Map lost a key');
      map.delete(key);
      map.set(key, { token: at, since: index });
    });
}
