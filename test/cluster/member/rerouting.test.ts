/** A person routes a queue anew: homes give it up if it is empty, and no two of them ever take calls about one key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callOff } from '../../../src/cluster/member/following.js';
import { Rerouting } from '../../../src/cluster/member/rerouting.js';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import { begun, finished } from '../../../src/cluster/partitions/routes.js';
import { amend } from '../../../src/cluster/store/amend.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import type { EnQueueRequest, Result, RouteRequest, RouteView, Turn } from '../../../src/coordinator.js';
import { Worker } from '../../contract/worker.js';
import { settings } from '../../support/builders.js';
import { MembersStage, TTL } from './stage.js';

const PARTITIONS = 8;
const RECORD: ClusterRecord = { id: 'c', partitions: PARTITIONS, secret: 's', version: 1, routes: {} };
const POLICY = { durable: true, lease: 10_000, wait: 60_000, resultTtl: 3_600_000 };
const QUEUES = { orders: POLICY, invoices: POLICY };

const alone = new PartitionMap(PARTITIONS, new Map());
const FROM = alone.of('orders', '');
/** Of a group that lies elsewhere. */
const SHOP = ['shop', 'stall', 'store'].find((name) => alone.of(name, '') !== FROM) ?? 'shop';
const TO = alone.of(SHOP, '');

type Started = ReturnType<MembersStage['start']>;

function scene() {
  const stage = new MembersStage(PARTITIONS, { queues: QUEUES });
  stage.isRouted = true;
  stage.store.record(RECORD);
  const { clock } = stage;
  const gateway = { store: stage.store.open('gateway'), registry: stage.registry.open('gateway') };
  let isEnded = false;
  const options = { clock, ...gateway, settings: settings({ queues: QUEUES }), record: RECORD };
  const rerouting = new Rerouting({ ...options, isEnded: () => isEnded });
  const end = () => {
    isEnded = true;
  };
  return { stage, rerouting, end, gateway };
}

async function withOne() {
  const made = scene();
  const a = made.stage.start('a', { reroutes: true });
  await made.stage.until(() => made.stage.hasAll(a.member));
  await made.stage.pass(500);
  return { ...made, a };
}

function asked(change: Partial<RouteRequest>): RouteRequest {
  return { queue: 'orders', group: undefined, spread: undefined, acceptLoss: false, ...change };
}

async function outcome<T>(stage: MembersStage, call: Promise<T>): Promise<T> {
  let done: { readonly value: T } | undefined;
  let failure: unknown;
  call.then(
    (value) => (done = { value }),
    (error: unknown) => (failure = error),
  );
  await stage.until(() => done !== undefined || failure !== undefined, 60_000);
  if (done === undefined) throw failure;
  return done.value;
}

function toldOf(answer: Result<RouteView>) {
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

function whyNot(answer: Result<RouteView>): string {
  const refusal = answer.ok ? undefined : answer.refusal;
  if (refusal === undefined || !('description' in refusal)) return '';
  return `${'because' in refusal ? refusal.because : refusal.kind}: ${refusal.description}`;
}

/** Who calls the home of a partition in this process. */
function at({ member }: Started, partition: number): Worker {
  const home = member.isHere(partition) ? member.home(partition) : undefined;
  assert.ok(home !== undefined, `partition ${partition} has no home there: ${member.whyNone(partition)}`);
  return new Worker(home);
}

async function held(stage: MembersStage, worker: Worker, change: Partial<EnQueueRequest>): Promise<Turn> {
  const call = worker.enQueue(change);
  await stage.until(() => !call.open, 1_000);
  const { decision, ...told } = call.value;
  assert.ok(decision === 'accept' && 'turn' in told, `${decision}`);
  return told.turn;
}

const LOCK = { queue: 'orders', key: 'k', wait: 0 };
function kindOf({ outcome: told }: { readonly outcome: unknown }): unknown {
  return JSON.parse(JSON.stringify(told ?? null)).refusal?.kind ?? 'answered';
}

describe('a queue that is routed anew', () => {
  it('S378: without a change the answer says where it lives', async () => {
    const { stage, rerouting } = await withOne();
    const { route, isChanged } = toldOf(await outcome(stage, rerouting.route(asked({}))));
    assert.deepEqual(route, { queue: 'orders', group: 'orders', spread: 1, partitions: [FROM], isChanging: false });
    assert.equal(isChanged, false);
    assert.deepEqual(stage.store.recordNow, RECORD);
  });

  it('S378: lives elsewhere when the answer comes, and all members follow', async () => {
    const { stage, rerouting, a } = await withOne();
    const { route, isChanged } = toldOf(await outcome(stage, rerouting.route(asked({ group: SHOP }))));
    assert.deepEqual([route.group, route.partitions, isChanged], [SHOP, [TO], true]);
    const { version, routes, rerouting: left } = stage.store.recordNow ?? RECORD;
    assert.deepEqual([version, routes['orders']?.group, left], [2, SHOP, undefined]);
    assert.equal(a.routes.version, 2);
    assert.equal(a.member.member.routes, 2);
    assert.equal((await held(stage, at(a, TO), LOCK)).queue, 'orders');
    assert.equal(kindOf(at(a, FROM).enQueue(LOCK)), 'no_home');
  });

  it('S378: may be spread, and comes back, and what is asked for already is no change', async () => {
    const { stage, rerouting, a } = await withOne();
    const spread = toldOf(await outcome(stage, rerouting.route(asked({ spread: 4 }))));
    assert.deepEqual([spread.route.spread, spread.isChanged], [4, true]);
    assert.ok(spread.route.partitions.length > 1);
    assert.equal(toldOf(await outcome(stage, rerouting.route(asked({ spread: 4 })))).isChanged, false);
    const back = toldOf(await outcome(stage, rerouting.route(asked({ group: 'orders' }))));
    assert.deepEqual([back.route.partitions, back.isChanged], [[FROM], true]);
    assert.equal((await held(stage, at(a, FROM), LOCK)).queue, 'orders');
  });

  const LEFT: readonly { what: string; leave: (worker: Worker) => void; says: RegExp }[] = [
    { what: 'a turn', leave: (worker) => void worker.enQueue(LOCK), says: /it has 1 live turn; stop what submits/ },
    {
      what: 'an item',
      leave: (worker) => void worker.submit([{ itemId: 'i', key: 'k' }], { queue: 'orders' }),
      says: /it has 1 item; stop what submits to it, and let its workers finish/,
    },
  ];

  for (const { what, leave, says } of LEFT) {
    it(`S380: is refused while it has ${what}, says what, and serves as before`, async () => {
      const { stage, rerouting, a } = await withOne();
      leave(at(a, FROM));
      await stage.pass(50);
      const answer = await outcome(stage, rerouting.route(asked({ group: SHOP, acceptLoss: true })));
      assert.match(whyNot(answer), says);
      assert.match(whyNot(answer), /^not_routable: queue "orders" cannot be routed anew/);
      const { routes, rerouting: left, version } = stage.store.recordNow ?? RECORD;
      assert.deepEqual([routes, left, version], [{}, undefined, 1]);
      await stage.pass(500);
      assert.equal((await held(stage, at(a, FROM), { ...LOCK, key: 'other' })).queue, 'orders');
    });
  }

  it('S380: results that are remembered hinder it, until a person lets them be forgotten', async () => {
    const { stage, rerouting, a } = await withOne();
    const worker = at(a, FROM);
    worker.submit([{ itemId: 'i', key: 'k' }], { queue: 'orders' });
    await stage.pass(50);
    const got = worker.acquire({ queues: ['orders'], wait: 0 });
    await stage.pass(50);
    const [delivery] = got.outcome !== undefined && 'answer' in got.outcome ? got.outcome.answer.deliveries : [];
    assert.ok(delivery !== undefined);
    worker.ack(delivery.turn);
    await stage.pass(50);
    const answer = await outcome(stage, rerouting.route(asked({ group: SHOP })));
    assert.match(whyNot(answer), /1 result or idempotency key that is remembered; wait until .* \(--accept-loss\)/);
    const told = toldOf(await outcome(stage, rerouting.route(asked({ group: SHOP, acceptLoss: true }))));
    assert.equal(told.isChanged, true);
    await stage.pass(100);
    assert.equal(stage.store.rowsOf(FROM), 1, 'nothing but the floor of its tokens is left there');
  });

  it('S380: a change that is refused for one part forgets nothing at the others', async () => {
    const { stage, rerouting, a } = await withOne();
    await outcome(stage, rerouting.route(asked({ spread: 4 })));
    const { map } = a.routes.now;
    const keys = Array.from({ length: 50 }, (_, number) => `k${number}`);
    const idle = keys.find((key) => map.of('orders', key) !== map.of('orders', 'k0')) ?? '';
    const worker = at(a, map.of('orders', idle));
    worker.submit([{ itemId: 'i', key: idle }], { queue: 'orders' });
    await stage.pass(50);
    const got = worker.acquire({ queues: ['orders'], wait: 0 });
    await stage.pass(50);
    const [delivery] = got.value.deliveries;
    assert.ok(delivery !== undefined);
    worker.ack(delivery.turn);
    await stage.pass(50);
    await held(stage, at(a, map.of('orders', 'k0')), { ...LOCK, key: 'k0' });
    const answer = await outcome(stage, rerouting.route(asked({ group: SHOP, acceptLoss: true })));
    assert.match(whyNot(answer), /it has 1 live turn; /);
    await stage.pass(500);
    const told = worker.await('i', 0, 'orders');
    await stage.pass(50);
    assert.equal(told.value.state, 'done');
  });

  it('S380: what the home before had not forgotten is forgotten by the next one', async () => {
    const { stage, a } = await withOne();
    at(a, FROM).submit([{ itemId: 'i', key: 'k' }], { queue: 'orders' });
    await stage.pass(50);
    const got = at(a, FROM).acquire({ queues: ['orders'], wait: 0 });
    await stage.pass(50);
    const [delivery] = got.value.deliveries;
    assert.ok(delivery !== undefined);
    at(a, FROM).ack(delivery.turn);
    await stage.pass(50);
    assert.ok(stage.store.rowsOf(FROM) > 1);
    a.kill();
    const person = stage.store.open('person');
    const change = { queue: 'orders', group: SHOP, spread: 1, acceptLoss: true };
    await outcome(
      stage,
      amend(person, (now, at) => begun(now, { ...change, at })),
    );
    await outcome(
      stage,
      amend(person, (now) => finished(now, 0)),
    );
    const b = stage.start('b', { reroutes: true });
    await stage.until(() => stage.hasAll(b.member), 30_000);
    await stage.until(() => stage.store.rowsOf(FROM) === 1, 5_000);
  });

  it('S380: who waits for its first item is sent on, and nobody is lost', async () => {
    const { stage, rerouting, a } = await withOne();
    const waits = at(a, FROM).acquire({ queues: ['orders'], wait: 60_000 });
    const other = at(a, alone.of('invoices', '')).acquire({ queues: ['invoices'], wait: 60_000 });
    await outcome(stage, rerouting.route(asked({ group: SHOP })));
    assert.equal(kindOf(waits), 'no_home');
    assert.ok(other.open);
  });

  it('S381: tokens of a key grow from one home to the next', async () => {
    const { stage, rerouting, a } = await withOne();
    const worker = at(a, FROM);
    // As a home that has given very many: its tokens are far ahead of the clock.
    stage.homeOf(FROM).receive('orders', undefined, 2 ** 50);
    await stage.pass(50);
    const before = await held(stage, worker, LOCK);
    assert.ok(before.token > 2 ** 50);
    await stage.pass(50);
    worker.end(before);
    await stage.pass(50);
    await outcome(stage, rerouting.route(asked({ group: SHOP })));
    const { token } = await held(stage, at(a, TO), LOCK);
    assert.ok(token > before.token, `${token} after ${before.token}`);
    // And the next home of that partition does not forget it, though this one gave none more.
    assert.ok((stage.store.recordNow?.routes['orders']?.above ?? 0) >= before.token);
  });

  it('S379: the next home of a partition takes nothing of what the one before gave up', async () => {
    const { stage, a } = await withOne();
    const b = stage.start('b', { reroutes: true });
    await stage.pass(1_000);
    // All is said at once, and then its home dies, before who asks has looked.
    const record = await outcome(
      stage,
      amend(b.store, (now, at) => begun(now, { queue: 'orders', group: SHOP, spread: 1, at, acceptLoss: false })),
    );
    assert.ok(record !== undefined);
    await stage.until(() => stage.registry.homes.some(({ statement }) => statement !== undefined));
    a.kill();
    await stage.until(() => b.member.isHere(FROM), 30_000);
    // Whoever comes next takes nothing of it: the word may have counted.
    assert.equal(kindOf(at(b, FROM).enQueue(LOCK)), 'no_home');
    await outcome(
      stage,
      amend(b.store, (now) => finished(now, 0)),
    );
    await stage.pass(500);
    assert.equal(kindOf(at(b, FROM).enQueue(LOCK)), 'no_home');
    assert.equal((await held(stage, at(b, TO), LOCK)).queue, 'orders');
  });

  it('S379: the word of a home whose claim does not stand any more is none', async () => {
    const { stage, gateway } = await withOne();
    const { clock } = stage;
    // The home before said it; the one that is there now has not.
    const homes = async () => {
      const at = stage.store.recordNow?.rerouting?.at ?? 0;
      const epoch = stage.store.guard(FROM).epoch - 1;
      return [{ partition: FROM, epoch, member: 'a-0', address: 'a:1', statement: { at, lastToken: 7 } }];
    };
    const registry = { members: () => gateway.registry.members(), homes };
    const own = { clock, store: gateway.store, registry, settings: settings({}), record: RECORD };
    const stale = new Rerouting({ ...own, patience: 1_000, isEnded: () => false });
    assert.match(whyNot(await outcome(stage, stale.route(asked({ group: SHOP })))), /^no_home/);
    assert.deepEqual(stage.store.recordNow?.routes, {});
  });

  it('S382: a queue that the record knows is not brought in in another way: the answer says what it has', async () => {
    const { stage, rerouting } = await withOne();
    const first = toldOf(await outcome(stage, rerouting.bringIn('orders', { group: SHOP, spread: 1 })));
    assert.deepEqual([first.route.group, first.isChanged], [SHOP, true]);
    const second = toldOf(await outcome(stage, rerouting.bringIn('orders', { group: 'orders', spread: 2 })));
    assert.deepEqual([second.route.group, second.route.spread, second.isChanged], [SHOP, 1, false]);
  });

  it('S382: of two that bring a queue in at once one wins, and both hear what counts', async () => {
    const { stage, rerouting, gateway } = await withOne();
    const { clock } = stage;
    const own = { clock, ...gateway, settings: settings({}), record: RECORD, isEnded: () => false };
    const both = [rerouting.bringIn('orders', { group: SHOP, spread: 1 })];
    both.push(new Rerouting(own).bringIn('orders', { group: 'orders', spread: 4 }));
    const answers = await outcome(stage, Promise.all(both));
    const changed = answers.filter((one) => one.ok && one.value.isChanged);
    assert.equal(changed.length, 1);
    const refused = answers.filter((one) => !one.ok && one.refusal.kind === 'limit');
    assert.equal(refused.length, 1, 'it asks again, and finds what the other one said');
  });

  it('S379: who claims a partition reads the record first, however old what it saw is', async () => {
    const { stage, a } = await withOne();
    const b = stage.start('b', { reroutes: true });
    await stage.pass(1_000);
    const letGo = b.freeze();
    await outcome(
      stage,
      amend(stage.store.open('person'), (now, at) =>
        begun(now, { queue: 'orders', group: SHOP, spread: 1, at, acceptLoss: false }),
      ),
    );
    await stage.until(() => stage.registry.homes.some(({ statement }) => statement !== undefined));
    a.kill();
    await stage.pass(TTL + 100);
    letGo();
    await stage.until(() => b.member.isHere(FROM), 30_000);
    assert.equal(kindOf(at(b, FROM).enQueue(LOCK)), 'no_home');
  });

  it('S379: who decided to claim before the queue was to leave knows of it before anybody is let in', async () => {
    const { stage, a } = await withOne();
    const b = stage.start('b', { reroutes: true });
    await stage.pass(4_000);
    // Nobody hears of a any more, which does not know that yet. The claim of b is on its way, and b sees nothing else.
    a.registry.wire.fault = ({ does }) => (does === 'renew' ? { lost: 'request' } : {});
    stage.registry.endSession(a.ids[0] ?? '');
    let isClaiming = false;
    const hasClaimed = () => stage.store.guard(FROM).member.startsWith('b');
    b.store.wire.fault = ({ does }) => {
      isClaiming ||= does === 'claim';
      if (does === 'claim') return { there: 800, back: 1 };
      return does === 'guards' && isClaiming && !hasClaimed()
        ? { there: 1, back: 1, lost: 'request' }
        : { there: 1, back: 1 };
    };
    await stage.until(() => isClaiming);
    await outcome(
      stage,
      amend(stage.store.open('person'), (now, at) =>
        begun(now, { queue: 'orders', group: SHOP, spread: 1, at, acceptLoss: false }),
      ),
    );
    await stage.pass(400);
    assert.ok(!hasClaimed());
    assert.equal(kindOf(at(a, FROM).enQueue(LOCK)), 'no_home', 'it has given it up');
    await stage.until(() => b.member.isHere(FROM), 5_000);
    assert.equal(kindOf(at(b, FROM).enQueue(LOCK)), 'no_home');
  });

  it('S379: the word of a home is given when what it says is written', async () => {
    const { stage, a } = await withOne();
    const turn = await held(stage, at(a, FROM), LOCK);
    at(a, FROM).end(turn);
    await stage.pass(50);
    const person = stage.store.open('person');
    a.store.wire.fault = ({ does }) => ({ there: 1, back: 1, ...(does === 'write' && { lost: 'request' as const }) });
    await outcome(
      stage,
      amend(person, (now, at) => begun(now, { queue: 'orders', group: SHOP, spread: 1, at, acceptLoss: true })),
    );
    await stage.pass(500);
    const said = () => stage.registry.homes.find(({ partition }) => partition === FROM)?.statement;
    assert.equal(kindOf(at(a, FROM).enQueue(LOCK)), 'no_home', 'it has given it up');
    assert.equal(said(), undefined);
    a.store.wire.fault = () => ({ there: 1, back: 1 });
    await stage.until(() => said() !== undefined, 5_000);
  });

  it('S379: only the change that was begun here is finished here', async () => {
    const { stage, gateway } = await withOne();
    const person = stage.store.open('person');
    let left = 3;
    const store = {
      changeRecord: (revision: number, record: ClusterRecord) => gateway.store.changeRecord(revision, record),
      look: async (partitions: number) => {
        if (partitions === 0 && --left === 0) {
          // At the last moment somebody calls it off, and begins another one.
          await callOff(person, 'c', stage.store.recordNow?.rerouting?.at ?? 0);
          await amend(person, (now, at) =>
            begun(now, { queue: 'invoices', group: 'invoices', spread: 2, at, acceptLoss: false }),
          );
        }
        return gateway.store.look(partitions);
      },
    };
    const { clock } = stage;
    const own = { clock, store, registry: gateway.registry, settings: settings({}), record: RECORD };
    const answer = await outcome(stage, new Rerouting({ ...own, isEnded: () => false }).route(asked({ group: SHOP })));
    assert.match(whyNot(answer), /was called off meanwhile/);
    assert.deepEqual(stage.store.recordNow?.routes, {});
    assert.equal(stage.store.recordNow?.rerouting?.queue, 'invoices');
  });

  it('S381: tokens are larger where it came, though its home there begins only then', async () => {
    const { stage, a } = await withOne();
    a.kill();
    const person = stage.store.open('person');
    const change = { queue: 'orders', group: SHOP, spread: 1, acceptLoss: false };
    await outcome(
      stage,
      amend(person, (now, at) => begun(now, { ...change, at })),
    );
    await outcome(
      stage,
      amend(person, (now) => finished(now, 2 ** 50)),
    );
    const b = stage.start('b', { reroutes: true });
    await stage.until(() => stage.hasAll(b.member), 30_000);
    assert.ok((await held(stage, at(b, TO), LOCK)).token > 2 ** 50);
  });

  it('S379: what nobody finishes is called off by the members, and the queue is served where it was', async () => {
    const { stage, a } = await withOne();
    const person = stage.store.open('person');
    await outcome(
      stage,
      amend(person, (now, at) => begun(now, { queue: 'orders', group: SHOP, spread: 1, at, acceptLoss: false })),
    );
    await stage.pass(1_000);
    assert.equal(kindOf(at(a, FROM).enQueue(LOCK)), 'no_home');
    await stage.until(() => stage.store.recordNow?.rerouting === undefined, 40_000);
    await stage.pass(500);
    assert.equal((await held(stage, at(a, FROM), LOCK)).queue, 'orders');
  });

  it('S379: a home that does not answer keeps it where it is, and is named', async () => {
    const { stage, rerouting, a } = await withOne();
    const letGo = a.freeze();
    const answer = await outcome(stage, rerouting.route(asked({ group: SHOP })));
    assert.match(whyNot(answer), new RegExp(`^no_home: the home of partition ${FROM} has not given .* within 10 s`));
    assert.equal(stage.store.recordNow?.rerouting, undefined);
    letGo();
    await stage.pass(2 * TTL);
    await stage.until(() => a.member.isHere(FROM), 30_000);
    assert.equal((await held(stage, at(a, FROM), LOCK)).queue, 'orders');
  });

  it('S379: a change that was called off meanwhile is not finished', async () => {
    const { stage, rerouting, a, gateway } = await withOne();
    const letGo = a.freeze();
    const call = rerouting.route(asked({ group: SHOP }));
    await stage.until(() => stage.store.recordNow?.rerouting !== undefined);
    const { at: when } = stage.store.recordNow?.rerouting ?? { at: 0 };
    await outcome(stage, callOff(gateway.store, 'c', when));
    letGo();
    assert.match(
      whyNot(await outcome(stage, call)),
      /was called off meanwhile; "keyturn cluster route -- orders" shows/,
    );
    assert.deepEqual(stage.store.recordNow?.routes, {});
  });

  it('S379: one change at a time: who comes second hears which one is under way', async () => {
    const { stage, rerouting, a } = await withOne();
    const letGo = a.freeze();
    const first = rerouting.route(asked({ group: SHOP }));
    await stage.until(() => stage.store.recordNow?.rerouting !== undefined);
    const second = await outcome(stage, rerouting.route(asked({ queue: 'invoices', group: SHOP })));
    assert.match(whyNot(second), /^limit: queue "orders" is being routed anew now, one after the other; try again/);
    letGo();
    await outcome(stage, first);
  });

  it('S379: an older member, which keeps the routes of its start, is named, and nothing changes', async () => {
    const { stage, rerouting } = await withOne();
    stage.start('old');
    await stage.pass(500);
    const answer = await outcome(stage, rerouting.route(asked({ group: SHOP })));
    assert.match(whyNot(answer), /^older_members: routes cannot be changed: old \(version 1\) does not follow routes/);
    assert.deepEqual(stage.store.recordNow, RECORD);
  });

  it('S379: without a member that lives nothing changes', async () => {
    const { stage, rerouting } = scene();
    const answer = await outcome(stage, rerouting.route(asked({ group: SHOP })));
    assert.match(whyNot(answer), /^not_routable: routes cannot be changed: no member lives/);
  });

  it('S381: what a store that fell back has lost of the record is put back by who has seen it', async () => {
    const { stage, rerouting, a } = await withOne();
    await outcome(stage, rerouting.route(asked({ group: SHOP })));
    await stage.pass(100);
    const { changes } = stage.store;
    await outcome(
      stage,
      amend(stage.store.open('person'), (now) => ({ ...now, version: now.version + 1, routes: {} })),
    );
    await stage.until(() => a.routes.version === 3);
    stage.store.failOver(stage.store.changes - changes);
    await stage.until(() => stage.store.recordNow?.version === 3);
    assert.equal(a.routes.version, 3);
  });

  it('S378: a rate that has nothing for each part is refused before anything changes', async () => {
    const { stage, gateway } = await withOne();
    const tight = settings({ queues: { orders: { ...POLICY, maxInFlight: 3 } } });
    const { clock } = stage;
    const other = new Rerouting({ clock, ...gateway, settings: tight, record: RECORD, isEnded: () => false });
    const answer = await outcome(stage, other.route(asked({ spread: 4 })));
    assert.match(JSON.stringify(answer), /maxInFlight of the queue is 3, and each part has to have something/);
    assert.deepEqual(stage.store.recordNow, RECORD);
  });
});
