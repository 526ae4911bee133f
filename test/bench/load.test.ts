import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAYLOAD, writeBacklog } from '../../bench/load/backlog.js';
import { loseByCrash } from '../../bench/load/crash-loss.js';
import { makeDataDirectory } from '../../bench/load/data-directory.js';
import { clientCalls, connectClient, Dispatch, type ItemCalls, streamCalls } from '../../bench/load/dispatch.js';
import { untilFirstTurn } from '../../bench/load/first-turn.js';
import { perSecondInFlight } from '../../bench/load/in-flight.js';
import { openWhenReady } from '../../bench/load/ready-session.js';
import { startBareSessionServer, startSidecar } from '../../bench/load/server-process.js';
import { SessionStream } from '../../bench/load/session-stream.js';
import { acquire, deQueue, enQueue, sayHello, seconds, turnOf } from '../../bench/load/wire.js';
import { startLmdb } from '../../bench/peers/lmdb.js';
import { inRounds } from '../../bench/rounds.js';
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

test('the load of the rows works on a sidecar, and a refusal is an error that says which', async () => {
  const sidecar = await startSidecar({ policy: { lease: '1h' } });
  const session = new SessionStream(sidecar.address);
  try {
    await sayHello(session, 'worker-1');
    const { token } = turnOf(await session.ask(enQueue('key')));
    await session.ask(deQueue('key', token));
    await assert.rejects(session.ask(deQueue('key', token + 1n)), /expected dequeue, got error: /);
    assert.ok((await sidecar.bytesInUse()) > 1_000_000);
  } finally {
    session.close();
    await sidecar.stop();
  }
  await assert.rejects(session.ask(enQueue('key')), /the session was closed/);
});

test('items go in and out again, on a bare stream and by the client', async () => {
  const sidecar = await startSidecar();
  const session = new SessionStream(sidecar.address);
  const keyturn = connectClient(sidecar.address);
  try {
    await inAndOut(await streamCalls(session));
    await inAndOut(clientCalls(keyturn));
  } finally {
    session.close();
    await keyturn.close();
    await sidecar.stop();
  }
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
