import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientCalls, connectClient, Dispatch, type ItemCalls, streamCalls } from '../../bench/load/dispatch.js';
import { perSecondInFlight } from '../../bench/load/in-flight.js';
import { startBareSessionServer, startSidecar } from '../../bench/load/server-process.js';
import { SessionStream } from '../../bench/load/session-stream.js';
import { deQueue, enQueue, sayHello, turnOf } from '../../bench/load/wire.js';
import { inRounds } from '../../bench/rounds.js';
import { SessionResponse } from '../../src/grpc/gen/keyturn/v1/coordinator.js';

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
    2,
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
