import { sideOfHeap } from '../against/heap-side.js';
import { perCpuSecond, startHeap } from '../heaps.js';
import { Dispatch, streamCalls } from '../load/dispatch.js';
import { perSecondInFlight } from '../load/in-flight.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { acquire, newItem, seconds, submit } from '../load/wire.js';
import { type Figure, harmonicMean } from '../measure.js';
import { interleave, type Lap, withCpuTime } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** The ratio shall be known to ±3 %: that is what it is about. */
const PLAN = { rounds: 9, most: 41, within: 0.03, laps: 2 };
const PARKED = 1_000_000;
const WORKER = new URL('./stuck-worker.js', import.meta.url);
/** Of a lap on a session. */
const ITEMS = 20_000;
const PARKED_PER_SUBMIT = 1_000;

const TOLD = {
  unit: 'turns/s',
  peer: 'the same without the stuck key',
  better: 'higher',
  enough: 0.97,
  aim: 1,
} as const;

const what =
  'dispatch (Submit, Acquire of up to 32 turns, Ack) over 10,000 keys, while one stuck key has 1,000,000 items parked behind it';

export const stuck: Row = {
  what,
  limit: 1_200,
  side: (dist) => sideOfHeap(new URL('bench/rows/stuck-worker.js', dist), [String(PARKED)], 'in process', 'turns'),
  async run(say) {
    return { figures: [await inProcess(says(say, 'in process')), await onSession(says(say, 'on a session'))] };
  },
};

function says(say: Say, where: string): Say {
  return (progress) => say(`${where}, ${progress}`);
}

async function inProcess(say: Say): Promise<Figure> {
  const withStuckKey = await startHeap(WORKER, String(PARKED));
  const without = await startHeap(WORKER, '0');
  const rounds = await interleave(PLAN, say, perCpuSecond(withStuckKey), perCpuSecond(without));
  await Promise.all([withStuckKey.close(), without.close()]);
  return {
    ...TOLD,
    part: 'in process',
    unit: 'turns/CPU s',
    what: `${what}; in process`,
    outcome: { is: 'measured', rounds: withCpuTime(rounds) },
  };
}

async function onSession(say: Say): Promise<Figure> {
  const servers = await Promise.all([startServer(), startServer()]);
  const sessions = [new SessionStream(servers[0].address), new SessionStream(servers[1].address)] as const;
  const [stuckSession, session] = sessions;
  say(`${PARKED} items park`);
  await parkBehindStuckKey(stuckSession);
  const laps = { stuck: await dispatchLap(stuckSession), free: await dispatchLap(session) };
  const [stuckServer, freeServer] = servers;
  const meters = { keyturn: stuckServer.cpuSeconds, peer: freeServer.cpuSeconds, operations: ITEMS };
  const rounds = await interleave(PLAN, say, laps.stuck, laps.free, meters);
  for (const each of sessions) each.close();
  await Promise.all(servers.map((server) => server.stop()));
  const told = `${what}; on a session, 64 turns in flight; load: a promise a call, on a bare stream of grpc-js`;
  return { ...TOLD, part: 'on a session', what: told, outcome: { is: 'measured', rounds } };
}

function startServer(): Promise<ServerProcess> {
  return startSidecar({ policy: { lease: '1h', max_waiting: 2 * PARKED } });
}

async function parkBehindStuckKey(session: SessionStream): Promise<void> {
  const submitStuck = async (count: number): Promise<void> => {
    const items = Array.from({ length: count }, () => newItem('stuck'));
    const { results } = await session.ask(submit(items));
    if (results.length !== count) throw new Error('an item was not answered');
  };
  await submitStuck(1);
  const { deliveries } = await session.ask(acquire(1, seconds(0)));
  if (deliveries.length !== 1) throw new Error('the stuck key is not stuck');
  await perSecondInFlight(PARKED / PARKED_PER_SUBMIT, 2, () => submitStuck(PARKED_PER_SUBMIT));
}

/** Every item that is submitted is taken and acknowledged. */
async function dispatchLap(session: SessionStream): Promise<Lap> {
  const items = new Dispatch(await streamCalls(session), new Uint8Array(0));
  // Equal work, so that this is half the rate at which an item goes in and out.
  return async () => harmonicMean([await items.submitAll(ITEMS), await items.takeAll(ITEMS)]) / 2;
}
