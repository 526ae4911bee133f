/** S520 to S527: a member carries follow-ups of Acks from one of its partitions to another. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Rerouting } from '../../../src/cluster/member/rerouting.js';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { OUTBOX_FORMAT } from '../../../src/cluster/store/format.js';
import { Worker } from '../../contract/worker.js';
import { bytes, newItem, policy, type SettingsChange, settings } from '../../support/builders.js';
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
const QUEUES = { orders: POLICY, near: POLICY, bills: { ...POLICY, maxWaiting: 1 }, mails: POLICY, wide: POLICY };

const map = new PartitionMap(PARTITIONS, new Map(Object.entries(RECORD.routes)));
const [FROM, BILLS, MAILS] = ['orders', 'bills', 'mails'].map((queue) => map.of(queue, '')) as [number, number, number];

async function scene(record = RECORD, change: SettingsChange = {}) {
  const stage = new MembersStage(PARTITIONS, { queues: QUEUES, ...change });
  stage.isRouted = true;
  stage.store.record(record);
  const a = stage.start('a', { reroutes: true, format: OUTBOX_FORMAT });
  await stage.until(() => stage.hasAll(a.member));
  await stage.pass(500);
  const at = (partition: number) => {
    const home = a.member.home(partition);
    assert.ok(home !== undefined);
    return new Worker(home);
  };
  /** Acknowledges a new item, with follow-ups to these queues. */
  const ack = async (...queues: readonly string[]) => {
    const worker = at(FROM);
    worker.submit([{ key: 'k' }], { queue: 'orders' });
    const taken = worker.acquire({ queues: ['orders'] });
    await stage.pass(50);
    const [delivery] = taken.value.deliveries;
    assert.ok(delivery !== undefined);
    const followUps = queues.map((queue) => ({ queue, item: newItem({ payload: bytes('p') }) }));
    const call = worker.ack(delivery.turn, { followUps });
    await stage.pass(50);
    return { call, token: delivery.turn.token, turn: delivery.turn };
  };
  const waiting = (partition: number, queue: string) =>
    stage
      .homeOf(partition)
      .stats()
      .queues.find(({ view }) => view.name === queue)?.view.waitingItems ?? 0;
  return { stage, a, at, ack, waiting };
}

describe('S520: follow-ups of an Ack to other groups', () => {
  it('are there a moment later, under the ids that the Ack told; those to its own group are accepted with it', async () => {
    const { stage, at, ack, waiting } = await scene();
    const { call, token } = await ack('near', 'mails');
    const [near, mails] = call.value.followUps;
    assert.deepEqual(
      [near && 'onItsWay' in near, mails],
      [false, { decision: 'accept', itemId: `~${token.toString(36)}.1`, supersededId: undefined, onItsWay: true }],
    );
    await stage.until(() => waiting(MAILS, 'mails') === 1);
    assert.equal(at(MAILS).await(mails?.itemId ?? '', 0, 'mails').value.state, 'waiting');
    await stage.until(() => stage.homeOf(FROM).outgoing.size === 0);
  });

  it('without a key reach a part of a queue that is spread, by their ids', async () => {
    const { stage, a, at } = await scene();
    const worker = at(FROM);
    worker.submit([{}], { queue: 'orders' });
    const taken = worker.acquire({ queues: ['orders'] });
    await stage.pass(50);
    const [delivery] = taken.value.deliveries;
    assert.ok(delivery !== undefined);
    const followUps = ['x', 'y', 'z'].map((itemId) => ({ queue: 'wide', item: newItem({ key: '', itemId }) }));
    worker.ack(delivery.turn, { followUps });
    await stage.pass(500);
    for (const itemId of ['x', 'y', 'z']) {
      const home = a.member.home(map.of('wide', '', itemId));
      assert.ok(home !== undefined);
      assert.equal(new Worker(home).await(itemId, 0, 'wide').value.state, 'waiting');
    }
  });

  it('are refused until the format of rows is fixed, at the home too, and nothing changes', async () => {
    const { format: _, ...unfixed } = RECORD;
    const { ack, stage, waiting } = await scene(unfixed);
    const { call } = await ack('mails');
    assert.ok(call.refusal.kind === 'other_group' && call.refusal.unfixed === true);
    assert.equal(stage.homeOf(FROM).outgoing.size, 0);
    assert.equal(waiting(FROM, 'orders'), 0, 'its turn lives on');
  });

  it('S524: those that find no room are sent again until they do, and hold up no other partition', async () => {
    const { stage, at, ack, waiting } = await scene();
    await ack('bills', 'mails');
    await ack('bills', 'mails');
    await stage.until(() => waiting(MAILS, 'mails') === 2 && waiting(BILLS, 'bills') === 1);
    await stage.pass(5_000);
    assert.equal(stage.homeOf(FROM).outgoing.size, 1);
    const taken = at(BILLS).acquire({ queues: ['bills'] });
    await stage.pass(50);
    assert.equal(taken.value.deliveries.length, 1);
    await stage.until(() => waiting(BILLS, 'bills') === 1 && stage.homeOf(FROM).outgoing.size === 0, 3_000);
  });

  it('are sent by the next home, once', async () => {
    const { stage, a, ack } = await scene();
    await ack('bills');
    await ack('bills');
    a.kill();
    const b = stage.start('b', { reroutes: true, format: OUTBOX_FORMAT });
    await stage.pass(4_000);
    stage.registry.endAll();
    await stage.until(() => stage.hasAll(b.member), 60_000);
    for (let left = 2; left > 0; left--) {
      const taken = new Worker(stage.homeOf(BILLS)).acquire({ queues: ['bills'], wait: 20_000 });
      await stage.until(() => !taken.open);
      const [delivery] = taken.value.deliveries;
      assert.ok(delivery !== undefined);
      new Worker(stage.homeOf(BILLS)).ack(delivery.turn);
      await stage.pass(50);
    }
    await stage.until(() => stage.homeOf(FROM).outgoing.size === 0);
    const nothing = new Worker(stage.homeOf(BILLS)).acquire({ queues: ['bills'] });
    assert.deepEqual(nothing.value.deliveries, []);
  });

  it('S527: of a queue that is being routed anew go to where it is then', async () => {
    const { stage, at, ack, waiting } = await scene();
    const { clock } = stage;
    const gateway = { store: stage.store.open('gateway'), registry: stage.registry.open('gateway') };
    const options = { clock, ...gateway, settings: settings({ queues: QUEUES }), record: RECORD };
    const rerouting = new Rerouting({ ...options, isEnded: () => false });
    const group = ['shop', 'stall', 'store'].find((name) => ![MAILS, FROM].includes(map.of(name, ''))) ?? '';
    const to = map.of(group, '');
    let isDone = false;
    void rerouting.route({ queue: 'mails', group, spread: undefined, acceptLoss: false }).then(() => {
      isDone = true;
    });
    // The home that has given it up takes nothing of it; the routes say still that it is there.
    await stage.until(() => 'refusal' in (at(MAILS).await('x', 0, 'mails').outcome ?? {}));
    const wasUnderWay = !isDone;
    await ack('mails');
    await stage.until(() => isDone && waiting(to, 'mails') === 1, 10_000);
    assert.ok(wasUnderWay);
    await stage.until(() => stage.homeOf(FROM).outgoing.size === 0);
  });

  it('S620: to a queue that is none are refused with the Ack, and nothing changes', async () => {
    const { stage, ack, at, waiting } = await scene(RECORD, { autoCreate: false });
    const { call, turn } = await ack('mails', 'none');
    assert.deepEqual(call.refusal, { kind: 'no_such_queue', queue: 'none' });
    assert.equal(stage.homeOf(FROM).outgoing.size, 0);
    at(FROM).ack(turn, { followUps: [{ queue: 'mails', item: newItem() }] });
    await stage.until(() => waiting(MAILS, 'mails') === 1);
  });

  it('S621: to a queue that their home does not have become dead letters of the queue of the Ack, and hold up nothing', async () => {
    const { stage, ack, waiting } = await scene(RECORD, { autoCreate: false });
    const letters = () =>
      stage
        .homeOf(FROM)
        .stats()
        .queues.find(({ view }) => view.name === 'orders')?.view.deadLetters;
    stage.believed = policy(POLICY);
    // In the same partition as one that is there.
    const none = Array.from({ length: 100 }, (_, at) => `none-${at}`).find((name) => map.of(name, '') === MAILS) ?? '';
    await ack('mails', none);
    await ack('mails');
    await stage.until(() => waiting(MAILS, 'mails') === 2 && stage.homeOf(FROM).outgoing.size === 0, 2_000);
    assert.equal(letters(), 1);
  });

  it('S622: more than max_waiting of their queue are refused with the Ack, as a Submit of as many is', async () => {
    const { stage, ack, at } = await scene();
    const { call } = await ack('bills', 'bills');
    const submit = at(BILLS).submit([{ key: 'x' }, { key: 'y' }], { queue: 'bills' });
    await stage.pass(50);
    const fields = [call, submit].map(({ refusal }) => refusal.kind === 'bad_request' && refusal.violations[0]?.field);
    assert.deepEqual(fields, ['follow_ups', 'items']);
    assert.equal(stage.homeOf(FROM).outgoing.size, 0);
  });

  it('S623: that are refused for 30 s are told of once, and so is the end of that', async () => {
    const { stage, a, at, ack } = await scene();
    for (let left = 3; left > 0; left -= 1) await ack('bills');
    await stage.pass(29_000);
    assert.deepEqual(stage.heldUp, []);
    assert.ok(a.member.between.heldUpFor > 28_000);
    await stage.pass(3_000);
    assert.deepEqual(stage.heldUp, ['queue_full']);
    for (let left = 3; left > 0; left -= 1) {
      const taken = at(BILLS).acquire({ queues: ['bills'], wait: 5_000 });
      await stage.until(() => !taken.open);
      const [delivery] = taken.value.deliveries;
      assert.ok(delivery !== undefined);
      at(BILLS).ack(delivery.turn);
    }
    await stage.until(() => stage.heldUp.length > 1);
    assert.deepEqual([stage.heldUp, a.member.between.heldUpFor], [['queue_full', undefined], 0]);
  });
});
