/** How many calls a connection may have open at once. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { test } from 'node:test';
import type { EnQueueAnswer } from '../../../src/coordinator.js';
import { type Allowing, type CallAllowance, CallAllowances } from '../../../src/grpc/call/call-allowance.js';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { FakeCoordinator } from '../fake-coordinator.js';
import { enQueueOver } from '../http2-calls.js';

/** The event loop turn by turn, and connections whose clients say when they know what they are allowed. */
class Stage {
  readonly told: string[] = [];
  #ahead: (() => void)[] = [];
  readonly #unacked: (() => void)[] = [];
  readonly #allowances = new CallAllowances((task) => void this.#ahead.push(task));

  connection(name: string, destroyed = false): CallAllowance {
    const settings: Allowing['settings'] = (allowed, acked) => {
      this.told.push(`${name} ${allowed.maxConcurrentStreams}`);
      this.#unacked.push(() => acked?.(null, allowed, 1));
    };
    return this.#allowances.of({ destroyed, settings });
  }

  turn(): void {
    const tasks = this.#ahead;
    this.#ahead = [];
    for (const task of tasks) task();
  }

  ack(): void {
    this.#unacked.shift()?.();
  }
}

function begin(connection: CallAllowance, calls: number): void {
  for (let call = 0; call < calls; call += 1) connection.began();
}

test('a connection may have 100 calls, and more when half of them are at work and its client knows of the last', () => {
  const stage = new Stage();
  const busy = stage.connection('busy');
  begin(busy, 49);
  stage.turn();
  assert.deepEqual(stage.told, []);
  begin(busy, 51);
  stage.turn();
  stage.turn();
  assert.deepEqual(stage.told, ['busy 150'], 'no more before its client knows');
  begin(busy, 50);
  stage.ack();
  stage.turn();
  assert.deepEqual(stage.told, ['busy 150', 'busy 200']);
});

test('calls that ended are not at work, though their answers may be unread', () => {
  const stage = new Stage();
  const slow = stage.connection('slow');
  for (let call = 0; call < 1_000; call += 1) {
    slow.began();
    slow.ended();
  }
  stage.turn();
  assert.deepEqual(stage.told, []);
  begin(slow, 50);
  slow.ended();
  stage.turn();
  assert.deepEqual(stage.told, [], 'it has eased off meanwhile');
  begin(slow, 1);
  stage.turn();
  assert.deepEqual(stage.told, ['slow 150']);
});

test('one connection is allowed more in a turn, each in its turn', () => {
  const stage = new Stage();
  for (const name of ['a', 'b', 'c']) begin(stage.connection(name), 100);
  stage.turn();
  assert.deepEqual(stage.told, ['a 150']);
  stage.turn();
  stage.turn();
  assert.deepEqual(stage.told, ['a 150', 'b 150', 'c 150']);
});

test('a connection that is gone by then is told nothing, and holds nobody up', () => {
  const stage = new Stage();
  begin(stage.connection('gone', true), 100);
  begin(stage.connection('here'), 100);
  stage.turn();
  stage.turn();
  assert.deepEqual(stage.told, ['here 150']);
});

test('a connection may come to have 10,000 calls, and no more', () => {
  const stage = new Stage();
  const busy = stage.connection('busy');
  begin(busy, 20_000);
  for (let turn = 0; turn < 1_000; turn += 1) {
    stage.turn();
    stage.ack();
  }
  assert.equal(stage.told.at(-1), 'busy 10000');
  const allowed = stage.told.map((told) => Number(told.split(' ')[1]));
  const steps = allowed.map((calls, at) => calls - (allowed[at - 1] ?? 100));
  assert.deepEqual([steps[0], Math.max(...steps)], [50, 250], 'no more than that in one go');
});

const ANSWER: EnQueueAnswer = { decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined };
const enQueue = (key: string) => message(EnQueueRequest, { queue: 'q', key });

test('1,000 calls that wait at once on one connection all come in', async (t) => {
  const coordinator = new FakeCoordinator();
  const waiting: (() => void)[] = [];
  coordinator.enQueue = (_, reply) => {
    waiting.push(() => reply.answer(ANSWER));
    return { cancel: () => {} };
  };
  const { raw } = await startSidecar(t, coordinator);
  const answers = Array.from({ length: 1_000 }, (_, at) => call(raw, raw.enQueue, enQueue(`k${at}`), 60_000));
  await until(() => waiting.length === 1_000);
  for (const answer of waiting) answer();
  assert.equal((await Promise.all(answers)).length, 1_000);
});

test('of 1,000 calls whose client takes no answer 100 begin, and others are answered', async (t) => {
  const coordinator = new FakeCoordinator();
  let asked = 0;
  coordinator.enQueue = ({ key }, reply) => {
    if (key !== 'other') asked += 1;
    reply.answer(ANSWER);
    return undefined;
  };
  const { raw, address } = await startSidecar(t, coordinator);
  const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize: 0 } });
  session.on('error', () => {}); // Its streams tell.
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  const streams = Array.from({ length: 1_000 }, (_, at) => enQueueOver(session, `k${at}`));
  await Promise.all(streams.slice(0, 100).map((stream) => once(stream, 'response')));
  for (let others = 0; others < 10; others += 1) await call(raw, raw.enQueue, enQueue('other'));
  assert.equal(asked, 100);
  session.settings({ initialWindowSize: 65_535 });
  await until(() => asked === 1_000);
});
