import { type Offered, OpenLoop } from '../load/open-loop.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { sayHello } from '../load/wire.js';
import { type Figure, percentile } from '../measure.js';
import { inRounds, type Rounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

const PLAN = { rounds: 9, most: 15, within: 0.1 };
const OFFERED: Offered = { items: 40_000, perSecond: 20_000, keys: 10_000, slowOfThousand: 10, slowMs: 50 };

export const openloop: Row = {
  what: 'how long an item waits though it could start: 20,000 items a second are offered, whatever becomes of those before',
  limit: 900,
  async run(say) {
    return { figures: await measureOpenLoop(OFFERED, PLAN, say) };
  },
};

/** Of a round. */
interface Waits {
  readonly p50: number;
  readonly p99: number;
  /** CPU time of the sidecar for an item, µs. */
  readonly cpu: number;
}

export async function measureOpenLoop(offered: Offered, plan: Rounds, say: Say): Promise<Figure[]> {
  const sidecar = await startSidecar({ policy: { waiting_per_key: 'unlimited' } });
  const [producer, worker] = [await openSession(sidecar, 'producer'), await openSession(sidecar, 'worker')];
  const loop = new OpenLoop(producer, worker, offered);
  const rounds = await inRounds(
    plan,
    say,
    () => oneRound(loop, sidecar, offered.items),
    ({ p99 }) => p99,
  );
  producer.close();
  worker.close();
  await sidecar.stop();
  const what = `${offered.perSecond.toLocaleString('en-US')} items/s with 200 bytes come at random over ${offered.keys.toLocaleString('en-US')} keys, open loop; ${offered.slowOfThousand / 10} % of the work takes ${offered.slowMs} ms; from the moment an item could start (it was due, and its key free) until a worker has it; load: a bare stream of grpc-js for the producer, one for the workers`;
  const figure = (part: 'p50' | 'p99', told: string, marks: Pick<Figure, 'enough' | 'aim'>): Figure => ({
    part,
    what: `${what}; ${told}`,
    unit: 'ms',
    peer: undefined,
    better: 'lower',
    ...marks,
    outcome: {
      is: 'measured',
      rounds: rounds.map((waits) => ({ value: waits[part], peer: undefined, cpu: waits.cpu })),
    },
  });
  return [
    figure('p50', 'half wait no longer', { enough: undefined, aim: undefined }),
    figure('p99', '99 % wait no longer', { enough: 5, aim: 2 }),
  ];
}

async function oneRound(loop: OpenLoop, sidecar: ServerProcess, items: number): Promise<Waits> {
  const before = await sidecar.cpuSeconds();
  const waits = [...(await loop.run())];
  const cpu = (1e6 * ((await sidecar.cpuSeconds()) - before)) / items;
  return { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99), cpu };
}

async function openSession(server: ServerProcess, consumerId: string): Promise<SessionStream> {
  const session = new SessionStream(server.address);
  await sayHello(session, consumerId);
  return session;
}
