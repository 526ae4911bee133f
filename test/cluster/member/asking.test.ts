/** S535 to S539: a member asks for items of other groups that items of its partitions wait for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { OUTBOX_FORMAT } from '../../../src/cluster/store/format.js';
import type { Turn } from '../../../src/coordinator.js';
import { Worker } from '../../contract/worker.js';
import type { SettingsChange } from '../../support/builders.js';
import { MembersStage } from './stage.js';

const PARTITIONS = 8;
const RECORD: ClusterRecord = {
  id: 'c',
  partitions: PARTITIONS,
  secret: 's',
  version: 1,
  routes: { near: { group: 'orders', spread: 1 }, wide: { group: 'wide', spread: 4 } },
  format: OUTBOX_FORMAT,
};
const POLICY = { durable: true, lease: 10_000 };
const QUEUES = { orders: POLICY, near: POLICY, bills: POLICY, wide: POLICY };
const map = new PartitionMap(PARTITIONS, new Map(Object.entries(RECORD.routes)));
const [ORDERS, BILLS] = ['orders', 'bills'].map((queue) => map.of(queue, '')) as [number, number];
assert.notEqual(ORDERS, BILLS);
/** Another queue that has one home with `orders` by chance. */
const CHANCE = (() => {
  for (let n = 0; ; n++) if (map.of(`chance${n}`, '') === ORDERS) return `chance${n}`;
})();

async function scene(record = RECORD) {
  const stage = new MembersStage(PARTITIONS, { queues: { ...QUEUES, [CHANCE]: POLICY } });
  stage.isRouted = true;
  stage.store.record(record);
  const a = stage.start('a', { reroutes: true, format: OUTBOX_FORMAT });
  await stage.until(() => stage.hasAll(a.member));
  await stage.pass(500);
  const at = (partition: number) => new Worker(stage.homeOf(partition));
  const submit = async (queue: string, itemId: string, after?: readonly { queue: string; itemId: string }[]) => {
    const partition = map.of(queue, itemId, itemId);
    const call = at(partition).submit([{ key: itemId, itemId, after }], { queue });
    await stage.pass(50);
    return call;
  };
  const finish = async (queue: string, itemId: string) => {
    const worker = at(map.of(queue, itemId, itemId));
    const taken = worker.acquire({ queues: [queue] });
    await stage.pass(50);
    const [delivery] = taken.value.deliveries;
    assert.equal(delivery?.items[0]?.itemId, itemId);
    worker.ack(delivery.turn);
    await stage.pass(50);
  };
  const take = async (queue: string, partition = map.of(queue, '')) => {
    const taken = at(partition).acquire({ queues: [queue], maxTurns: 10 });
    await stage.pass(50);
    return taken.value.deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId));
  };
  const far = () => stage.homeOf(BILLS).far.size;
  return { stage, a, at, submit, finish, take, far };
}

describe('S535: an item that waits for one of another group', () => {
  it('starts a moment after that is done, and not before', async () => {
    const { stage, submit, finish, take, far } = await scene();
    await submit('orders', 'o');
    assert.ok((await submit('bills', 'b', [{ queue: 'orders', itemId: 'o' }])).value);
    await stage.pass(60_000);
    assert.deepEqual(await take('bills'), []);
    await finish('orders', 'o');
    await stage.until(() => far() === 0, 500);
    assert.deepEqual(await take('bills'), ['b']);
  });

  it('starts when that is done already, and when both have one home by chance', async () => {
    const { stage, submit, finish, take } = await scene();
    await submit('orders', 'o');
    await submit(CHANCE, 'c', [{ queue: 'orders', itemId: 'o' }]);
    assert.deepEqual(await take(CHANCE), []);
    await finish('orders', 'o');
    await submit('bills', 'b', [{ queue: 'orders', itemId: 'o' }]);
    await stage.until(() => stage.homeOf(ORDERS).far.size + stage.homeOf(BILLS).far.size === 0, 500);
    assert.deepEqual([await take(CHANCE), await take('bills')], [['c'], ['b']]);
  });

  it('of a queue that is spread, in whichever part it is', async () => {
    const { stage, submit, finish, take, far } = await scene();
    const ids = ['w0', 'w1', 'w2'];
    for (const id of ids) await submit('wide', id);
    for (const id of ids) await submit('bills', `b-${id}`, [{ queue: 'wide', itemId: id }]);
    assert.deepEqual(await take('bills'), []);
    assert.equal(far(), 3);
    for (const id of ids) await finish('wide', id);
    await stage.until(() => far() === 0, 500);
    assert.equal((await take('bills')).length, 3);
  });

  it('is refused until the format of rows is fixed, and with after_unknown: wait, at its home too', async () => {
    const { format: _, ...unfixed } = RECORD;
    const { submit } = await scene(unfixed);
    const refusal = (await submit('bills', 'b', [{ queue: 'orders', itemId: 'o' }])).refusal;
    assert.ok(refusal.kind === 'other_group' && refusal.unfixed === true);
    assert.equal(refusal.field, 'items[0].after[0].queue');
    const { at } = await scene();
    const after = [{ queue: 'orders', itemId: 'o' }];
    const wait = at(BILLS).submit([{ itemId: 'b', after, afterUnknown: 'wait' }], { queue: 'bills' }).refusal;
    assert.ok(wait.kind === 'bad_request' && wait.violations[0]?.field === 'items[0].after_unknown');
  });
});

describe('S536', () => {
  it('what its own home does not know becomes a dead letter, and says so', async () => {
    const { stage, at, submit, far } = await scene();
    await submit('bills', 'b', [{ queue: 'orders', itemId: 'never' }]);
    await stage.until(() => far() === 0, 500);
    const told = at(BILLS).await('b', 0, 'bills');
    await stage.pass(50);
    assert.equal(told.value.state, 'dead');
    assert.match(told.value.error ?? '', /never of queue orders.* is not known to the home of its queue any more/);
  });
});

describe('S537: homes that come and go', () => {
  it('the next home of the one that waits asks again', async () => {
    const { stage, a, submit } = await scene();
    await submit('orders', 'o');
    await submit('bills', 'b', [{ queue: 'orders', itemId: 'o' }]);
    a.kill();
    const b = stage.start('b', { reroutes: true, format: OUTBOX_FORMAT });
    await stage.pass(4_000);
    stage.registry.endAll();
    await stage.until(() => stage.hasAll(b.member), 60_000);
    assert.equal(stage.homeOf(BILLS).far.size, 1);
    const worker = new Worker(stage.homeOf(ORDERS));
    const taken = worker.acquire({ queues: ['orders'], wait: 20_000 });
    await stage.until(() => !taken.open);
    const [delivery] = taken.value.deliveries;
    assert.ok(delivery !== undefined);
    worker.ack(delivery.turn);
    await stage.until(() => stage.homeOf(BILLS).far.size === 0, 2_000);
    const next = new Worker(stage.homeOf(BILLS)).acquire({ queues: ['bills'], wait: 20_000 });
    await stage.until(() => !next.open);
    assert.equal(next.value.deliveries.length, 1);
  });

  it('nobody who has no home is taken for forgotten, and it is asked for until there is one', async () => {
    const { stage, submit, take, far } = await scene();
    await submit('orders', 'o');
    const home = stage.homeOf(ORDERS);
    home.shut({ kind: 'no_home', partition: ORDERS, description: 'it is gone', retryAfter: 50 });
    await submit('bills', 'b', [{ queue: 'orders', itemId: 'o' }]);
    await stage.pass(10_000);
    assert.equal(far(), 1);
    assert.deepEqual(await take('bills'), []);
    home.reopen(0);
    const worker = new Worker(home);
    const taken = worker.acquire({ queues: ['orders'] });
    await stage.pass(50);
    const [delivery] = taken.value.deliveries;
    assert.ok(delivery !== undefined);
    worker.ack(delivery.turn);
    await stage.until(() => far() === 0, 2_000);
    assert.deepEqual(await take('bills'), ['b']);
  });
});

describe('S539: items that wait for many others', () => {
  const MANY = 6_000;

  /** So many pairs of which the first are done over some seconds, in a queue that remembers an end for 5 s. */
  async function pairs(count: number, change: SettingsChange = {}) {
    const stage = new MembersStage(PARTITIONS, {
      queues: { ...QUEUES, orders: { ...POLICY, lease: 60_000, resultTtl: 5_000 } },
      ...change,
    });
    stage.isRouted = true;
    stage.store.record(RECORD);
    const a = stage.start('a', { reroutes: true, format: OUTBOX_FORMAT });
    await stage.until(() => stage.hasAll(a.member));
    await stage.pass(500);
    const [orders, bills] = [ORDERS, BILLS].map((partition) => new Worker(stage.homeOf(partition))) as [Worker, Worker];
    const ids = Array.from({ length: count }, (_, at) => String(at));
    orders.submit(
      ids.map((id) => ({ key: id, itemId: `o${id}` })),
      { queue: 'orders' },
    );
    await stage.pass(50);
    bills.submit(
      ids.map((id) => ({ key: id, itemId: `b${id}`, after: [{ queue: 'orders', itemId: `o${id}` }] })),
      { queue: 'bills' },
    );
    await stage.pass(50);
    const turns: Turn[] = [];
    while (turns.length < count) {
      const taken = orders.acquire({ queues: ['orders'], maxTurns: 1_000 });
      await stage.pass(20);
      turns.push(...taken.value.deliveries.map(({ turn }) => turn));
    }
    // From the last one on: those that would be asked for last are forgotten first.
    while (turns.length > 0) {
      for (const turn of turns.splice(-count / 24)) orders.ack(turn);
      await stage.pass(500);
    }
    await stage.until(() => stage.homeOf(BILLS).far.size === 0, 60_000);
    return stage
      .homeOf(BILLS)
      .stats()
      .queues.find(({ view }) => view.name === 'bills')?.view;
  }

  it('are all asked for at the same time: none of what they wait for is forgotten before', async () => {
    const view = await pairs(MANY);
    assert.deepEqual([view?.deadLetters, view?.waitingItems], [0, MANY]);
  });

  it('and where not all of them may be waited for, the others every second', async () => {
    const view = await pairs(600, { limits: { waitingAwaits: 50 } });
    assert.deepEqual([view?.deadLetters, view?.waitingItems], [0, 600]);
  });
});
