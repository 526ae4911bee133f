import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAYLOAD, writeBacklog } from '../../bench/load/backlog.js';
import { loseByCrash } from '../../bench/load/crash-loss.js';
import { makeDataDirectory } from '../../bench/load/data-directory.js';
import { clientCalls, connectClient, Dispatch, type ItemCalls, streamCalls } from '../../bench/load/dispatch.js';
import { untilFirstTurn } from '../../bench/load/first-turn.js';
import { perSecondInFlight } from '../../bench/load/in-flight.js';
import { cpuSecondsOf } from '../../bench/load/process-time.js';
import { openWhenReady } from '../../bench/load/ready-session.js';
import { startBareSessionServer, startSidecar } from '../../bench/load/server-process.js';
import { SessionStream } from '../../bench/load/session-stream.js';
import { acquire, deQueue, enQueue, sayHello, seconds, turnOf } from '../../bench/load/wire.js';
import { startLmdb } from '../../bench/peers/lmdb.js';
import { inRounds, interleave } from '../../bench/rounds.js';
import { Durability, SessionResponse } from '../../src/grpc/gen/keyturn/v1/coordinator.js';

test('every index is done once, and never more at once than allowed', async () => {
  const done: number[] = [];
  let atOnce = 0;
  let most = 0;
  const rate = await perSecondInFlight(10, 3, async (index) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await new Promise(setImmediate);
    atOnce -= 1;
    done.push(index);
  });
  assert.deepEqual(
    done.sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.equal(most, 3);
  assert.ok(rate > 0);
});

test('the first round only warms up', async () => {
  let ran = 0;
  const said: string[] = [];
  const rounds = await inRounds(
    { rounds: 2 },
    (progress) => said.push(progress),
    async () => ran++,
  );
  assert.deepEqual(rounds, [1, 2]);
  assert.deepEqual(said, ['warming up', 'round 1 of 2', 'round 2 of 2']);
});

/** Rounds that measure these values, the last one again and again. */
function values(...all: readonly number[]): () => Promise<number> {
  // The first round is not counted.
  let at = -1;
  return async () => all[Math.min(at++ < 0 ? 0 : at - 1, all.length - 1)] ?? 0;
}

const itself = (value: number) => value;

test('rounds go on until the interval is narrow, to the most of the plan, and to no more than the least without one', async () => {
  const plan = { rounds: 6, most: 10, within: 0.05 };
  const said: string[] = [];
  const counted = async (round: () => Promise<number>, ...of: readonly ((value: number) => number)[]) =>
    (await inRounds(plan, (progress) => said.push(progress), round, ...of)).length;
  assert.equal(await counted(values(1), itself), 6);
  // From the seventh on they agree; of nine values the interval leaves out one on either side.
  assert.equal(await counted(values(1, 1, 1, 1, 1, 2, 1), itself), 9);
  assert.equal(said.at(-1), 'round 9 of 10');
  assert.equal(await counted(values(1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), itself), 10);
  assert.equal(await counted(values(1, 2, 1, 2, 1, 2)), 6);
  // Each of several has to be known.
  assert.equal(await counted(values(1, 1, 1, 1, 1, 2, 1), () => 1, itself), 9);
});

test('no round beyond the least begins after the time that a row has', async () => {
  const plan = { rounds: 6, most: 100, longest: 0 };
  const rounds = await inRounds(plan, () => {}, values(1, 2, 3, 4, 5, 6), itself);
  assert.equal(rounds.length, 6);
});

test('Keyturn and its peer come first in turn, a round goes on until their ratio is known, and CPU time is of an operation', async () => {
  const laps: string[] = [];
  const lap = (name: string, rate: number) => async () => {
    laps.push(name);
    return rate;
  };
  const used = { own: 0, peers: 0 };
  const meters = {
    keyturn: async () => used.own++ * 1e-6,
    peer: async () => used.peers++ * 2e-6,
    operations: 1,
    peerOperations: 2,
  };
  const plan = { rounds: 6, most: 9, laps: 2 };
  const rounds = await interleave(plan, () => {}, lap('own', 10), lap('peer', 5), meters);
  assert.equal(rounds.length, 6);
  assert.deepEqual(laps.slice(0, 8), ['own', 'peer', 'peer', 'own', 'own', 'peer', 'peer', 'own']);
  for (const { value, peer, cpu, peerCpu } of rounds) {
    assert.deepEqual([value, peer], [10, 5]);
    assert.ok(Math.abs((cpu ?? 0) - 1) < 1e-6 && Math.abs((peerCpu ?? 0) - 1) < 1e-6);
  }
});

test('a program tells its CPU time where the system does, and one that is gone does not', async () => {
  assert.ok(Number.isNaN(await cpuSecondsOf(2 ** 22 + 1)));
  if (process.platform !== 'linux') return assert.ok(Number.isNaN(await cpuSecondsOf(process.pid)));
  const before = await cpuSecondsOf(process.pid);
  while (process.cpuUsage().user < 1e6 * (before + 0.05)) for (let spin = 0; spin < 1e6; spin++);
  assert.ok((await cpuSecondsOf(process.pid)) >= before + 0.02);
});

test('the load of the rows works on a sidecar, on a bare stream and by the client; a refusal is an error that says which', async () => {
  const sidecar = await startSidecar({ policy: { lease: '1h' } });
  const session = new SessionStream(sidecar.address);
  const other = new SessionStream(sidecar.address);
  const keyturn = connectClient(sidecar.address);
  try {
    await sayHello(session, 'worker-1');
    const { token } = turnOf(await session.ask(enQueue('key')));
    await session.ask(deQueue('key', token));
    await assert.rejects(session.ask(deQueue('key', token + 1n)), /expected dequeue, got error: /);
    assert.ok((await sidecar.bytesInUse()) > 1_000_000);
    await inAndOut(await streamCalls(other));
    await inAndOut(clientCalls(keyturn));
  } finally {
    session.close();
    other.close();
    await keyturn.close();
    await sidecar.stop();
  }
  await assert.rejects(session.ask(enQueue('key')), /the session was closed/);
});

async function inAndOut<Turn>(calls: ItemCalls<Turn>): Promise<void> {
  let acked = 0;
  const counted: ItemCalls<Turn> = { ...calls, ack: (turn) => calls.ack(turn).then(() => acked++) };
  const items = new Dispatch(counted, Buffer.from('payload'));
  assert.ok((await items.submitAll(300)) > 0);
  assert.ok((await items.takeAll(300)) > 0);
  assert.equal(acked, 300);
}

test('the bare stream answers each command with the reply of its kind', async () => {
  const told = { promoted: true, waiting: 7 };
  const replies = [{ id: 1, outcome: { $case: 'dequeue', value: told } } as const];
  const bare = await startBareSessionServer(SessionResponse.encode({ replies, notices: [] }).finish());
  const session = new SessionStream(bare.address);
  try {
    const answers = await Promise.all([session.ask(deQueue('one', 1n)), session.ask(deQueue('other', 2n))]);
    assert.deepEqual(answers, [told, told]);
  } finally {
    session.close();
    await bare.stop();
  }
});

test('records go into the library alone, lap by lap', async () => {
  const data = await makeDataDirectory();
  const lmdb = await startLmdb(data.path, 50, 8);
  assert.ok((await lmdb.lap()) > 0);
  assert.ok((await lmdb.lap()) > 0);
  await lmdb.close();
  assert.ok((await data.size()) > 100 * PAYLOAD.length);
  await data.remove();
  await assert.rejects(data.size(), /ENOENT/);
});

test('a backlog that was written is there: the first turn has an item of it', async () => {
  const data = await makeDataDirectory();
  const said: string[] = [];
  await writeBacklog(data.path, 25, (progress) => said.push(progress));
  assert.deepEqual(said, ['0 items are on the disk']);
  const options = { policy: { durable: true }, dataDirectory: data.path };
  const { sidecar, after } = await untilFirstTurn(options);
  assert.ok(after > 0);
  const session = await openWhenReady(sidecar.address);
  // Ten to a key, one of which is in flight.
  const { deliveries } = await session.ask(acquire(100, seconds(1)));
  assert.deepEqual(
    deliveries.map(({ turn }) => turn?.key),
    ['customer-1', 'customer-2'],
  );
  session.close();
  await sidecar.kill();
  await data.remove();
});

test('a crash loses nothing of what was answered after its flush, and everything of what was only in memory', async () => {
  const flushed = await loseByCrash(Durability.DURABILITY_ON_FLUSH, 300, 16);
  assert.ok(flushed.answered >= 300);
  assert.equal(flushed.missing, 0);
  const inMemory = await loseByCrash(Durability.DURABILITY_MEMORY, 300, 16);
  assert.ok(inMemory.answered >= 300);
  assert.equal(inMemory.missing, inMemory.answered);
});
