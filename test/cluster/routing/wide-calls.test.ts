/** Calls that several homes answer together, and what one step cannot reach. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer, RenewAnswer, SubmitAnswer } from '../../../src/coordinator.js';
import { idsOf } from '../../contract/stage.js';
import { ackRequest, acquireRequest, newItem } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { RoutingStage } from './stage.js';

const SPREAD = { wide: { group: 'wide', spread: 64 } } as const;

/** A queue over all four partitions. */
function wide(): RoutingStage {
  const stage = new RoutingStage({ routes: SPREAD });
  assert.equal(stage.map.all('wide').length, 4);
  return stage;
}

describe('Renew over several homes', () => {
  it('the results are in the order of the request', () => {
    const stage = new RoutingStage();
    const [a = '', b = '', c = ''] = stage.queues();
    const turns = [a, b, c, a, b].map((queue, at) => stage.hold({ queue, key: `k${at}` }));
    stage.end(turns[3] ?? assert.fail());
    assert.deepEqual(
      stage.renew(turns).map(({ alive }) => alive),
      [true, true, true, false, true],
    );
  });

  it('S257: one home that is away refuses the whole call; the others have renewed, and it may be repeated', () => {
    const stage = new RoutingStage({ policy: { lease: 3_000 } });
    const [a = '', b = ''] = stage.queues();
    const turns = [a, b].map((queue) => stage.hold({ queue }));
    const home = stage.at(1);
    stage.homes.set(1, undefined);
    stage.advance(1_000);
    const call = new Call<RenewAnswer>();
    stage.coordinator.renew({ turns, lease: undefined }, call);
    stage.advance(2_000);
    assert.equal(call.refusal.kind, 'no_home');
    stage.homes.set(1, home);
    assert.deepEqual(
      stage.renew(turns).map(({ alive }) => alive),
      [true, false],
    );
  });
});

describe('Ack with a next that is answered elsewhere', () => {
  const next = (queues: readonly string[], wait: number) => acquireRequest({ queues, wait });

  it('S258: the next comes after the Ack', () => {
    const stage = new RoutingStage();
    const [a = '', b = ''] = stage.queues();
    stage.submit([{ itemId: 'i' }], { queue: a });
    stage.submit([{ itemId: 'j' }], { queue: b });
    const { turn } = stage.take({ queues: [a] });
    const { next: answer } = stage.ack(turn, { next: next([a, b], 0) }).value;
    assert.deepEqual(
      answer?.deliveries.map(({ items }) => items[0]?.itemId),
      ['j'],
    );
    assert.equal(stage.await('i', 0, a).value.state, 'done');
  });

  it('S258: refused, the Ack is refused and nothing is asked for; a next that is refused is empty', () => {
    const stage = new RoutingStage({ change: { queues: { q0: {}, q1: {} }, autoCreate: false } });
    const names = ['q0', 'q1'];
    assert.equal(new Set(names.map((name) => stage.map.of(name, ''))).size, 2);
    const token = stage.ack({ ...stage.hold({ queue: 'q0' }), token: 7 }, { next: next(['q1'], 0) }).refusal;
    assert.equal(token.kind, 'turn_lost');
    assert.ok(!stage.homeOf('q1').asked.some((what) => what.startsWith('acquire')));
    const { turn } = { turn: stage.hold({ queue: 'q0', key: 'x' }) };
    const elsewhere = stage.queueAt(stage.map.of('q1', ''), 5);
    assert.deepEqual(stage.ack(turn, { next: next([elsewhere], 0) }).value.next, { deliveries: [] });
  });

  it('callOff × next: the Ack is answered with an empty next; cancel: no answer follows', () => {
    const stage = new RoutingStage();
    const [a = '', b = ''] = stage.queues();
    const ask = (key: string) => {
      const turn = stage.hold({ queue: a, key });
      const reply = new Call<AckAnswer>();
      const request = ackRequest({ queue: a, key, token: turn.token, next: next([b], 60_000) });
      return { reply, pending: stage.coordinator.ack(request, reply) };
    };
    const off = ask('x');
    assert.equal(off.pending?.callOff?.(), false);
    assert.deepEqual(off.reply.value.next, { deliveries: [] });
    const gone = ask('y');
    gone.pending?.cancel();
    stage.submit([{ itemId: 'j' }], { queue: b });
    assert.ok(gone.reply.open);
    assert.deepEqual(idsOf(stage.acquire({ queues: [b] })), [['j']]);
    assert.equal(stage.coordinator.stats().waitingCalls, 0);
  });

  it('callOff × an Ack that its home is carrying out: its next is not asked for any more', () => {
    const stage = new RoutingStage();
    const [a = '', b = ''] = stage.queues();
    stage.submit([{ itemId: 'i' }], { queue: a });
    const { turn } = stage.take({ queues: [a] });
    stage.at(0).isLate = true;
    const call = new Call<AckAnswer>();
    const pending = stage.coordinator.ack(ackRequest({ ...turn, next: next([b], 60_000) }), call);
    assert.equal(pending?.callOff?.(), false);
    stage.at(0).deliver();
    assert.deepEqual(call.value.next?.deliveries, []);
    assert.deepEqual(stage.at(1).asked, []);
  });

  it('drain × next: empty', () => {
    const stage = new RoutingStage();
    const [a = '', b = ''] = stage.queues();
    const waiting = stage.ack(stage.hold({ queue: a }), { next: next([b], 60_000) });
    void stage.coordinator.drain(1_000);
    assert.deepEqual(waiting.value.next, { deliveries: [] });
  });
});

describe('S254: one step over queues of several groups', () => {
  const stage = new RoutingStage({
    routes: { ...SPREAD, one: { group: 'g', spread: 1 }, two: { group: 'g', spread: 1 } },
  });
  const item = (change: object = {}) => newItem({ itemId: 'new', ...change });
  const after = (queue: string) => item({ after: [{ queue, itemId: 'x' }], afterUnknown: 'wait' });

  it('follow_ups to another group are refused before anything changes, naming the field, the queue and the group', () => {
    const turn = stage.hold({ queue: 'one', key: 'a' });
    const refused = stage.ack(turn, {
      followUps: [
        { queue: 'two', item: item() },
        { queue: 'other', item: item() },
      ],
    });
    assert.deepEqual(refused.refusal, {
      kind: 'other_group',
      field: 'follow_ups[1].queue',
      queue: 'one',
      group: 'g',
      other: 'other',
      unfixed: true,
    });
    assert.equal(stage.await('new', 0, 'two').value.state, 'unknown');
    assert.ok(stage.ack(turn, { followUps: [{ queue: 'two', item: item({ itemId: 'f' }) }] }).value);
    assert.equal(stage.await('f', 0, 'two').value.state, 'waiting');
  });

  it('after of another group too, of a Submit and of a follow-up', () => {
    assert.ok(stage.submit([after('one')], { queue: 'two' }).value);
    const refused = stage.submit([item({ itemId: 'y' }), after('other')], { queue: 'two' }).refusal;
    assert.ok(refused.kind === 'other_group' && refused.field === 'items[1].after[0].queue');
    const turn = stage.hold({ queue: 'one', key: 'b' });
    const followUp = stage.ack(turn, { followUps: [{ queue: 'two', item: after('other') }] }).refusal;
    assert.ok(followUp.kind === 'other_group' && followUp.field === 'follow_ups[0].item.after[0].queue');
  });

  it('two queues that are decided about by one home by chance are of two groups all the same', () => {
    const [a, b] = [stage.queueAt(0), stage.queueAt(0, 1)];
    assert.equal(stage.submit([after(a)], { queue: b }).refusal.kind, 'other_group');
    const turn = stage.hold({ queue: a, key: 'chance' });
    assert.equal(stage.ack(turn, { followUps: [{ queue: b, item: item() }] }).refusal.kind, 'other_group');
  });

  it('of a queue that is spread: a follow-up of its own key, and nothing else', () => {
    const turn = stage.hold({ queue: 'wide', key: 'a' });
    const other = { queue: 'wide', item: item({ key: stage.keyAt('wide', 0, 9) }) };
    assert.equal(stage.ack(turn, { followUps: [other] }).refusal.kind, 'other_group');
    assert.equal(stage.submit([after('wide')], { queue: 'wide' }).refusal.kind, 'other_group');
    assert.ok(stage.ack(turn, { followUps: [{ queue: 'wide', item: item({ key: 'a' }) }] }).value);
  });
});

describe('a queue that is spread', () => {
  it('S256: a Submit is told in its order, whole in each partition', () => {
    const stage = wide();
    const items = Array.from({ length: 20 }, (_, at) => ({ itemId: `i${at}`, key: `k${at}` }));
    const { results } = stage.submit(items, { queue: 'wide' }).value;
    assert.deepEqual(
      results.map(({ itemId }) => itemId),
      items.map(({ itemId }) => itemId),
    );
    const taken = new Set<string>();
    for (let at = 0; at < 20; at += 1)
      for (const id of idsOf(stage.acquire({ queues: ['wide'] })).flat()) taken.add(id);
    assert.equal(taken.size, 20);
  });

  it('S256: one part refuses: the call is refused by the field of the whole, what others accepted is known when it comes again', () => {
    const stage = wide();
    const [a, b] = [stage.keyAt('wide', 0), stage.keyAt('wide', 1)];
    stage.submit([{ itemId: 'i', key: b }], { queue: 'wide' });
    const items = [
      { itemId: 'a', key: a },
      { itemId: 'b', key: b },
      { itemId: 'i', key: b, payload: new Uint8Array(1) },
    ];
    const { refusal } = stage.submit(items, { queue: 'wide' });
    assert.ok(refusal.kind === 'bad_request');
    assert.match(refusal.violations[0]?.field ?? '', /^items\[2\]/);
    assert.equal(stage.await('a', 0, 'wide').value.state, 'waiting');
    assert.equal(stage.await('b', 0, 'wide').value.state, 'unknown');
    const again = stage.submit(items.slice(0, 2), { queue: 'wide' }).value;
    assert.ok(again.results.every(({ decision }) => decision === 'accept'));
    assert.equal(stage.drainIds({ queues: ['wide'] }).filter((id) => id === 'a').length, 1);
  });

  it('S256: a Submit that waits for room can be taken back where it waits', () => {
    for (const areHere of [true, false]) {
      const stage = new RoutingStage({ routes: SPREAD, policy: { maxWaiting: 1 }, areHere });
      const [a, b] = [stage.keyAt('wide', 0), stage.keyAt('wide', 1)];
      stage.submit([{ key: a, itemId: 'first' }], { queue: 'wide' });
      const reply = new Call<SubmitAnswer>();
      const items = [newItem({ key: a, itemId: 'x' }), newItem({ key: b, itemId: 'y' })];
      const request = { queue: 'wide', items, waitForRoom: 60_000, durability: undefined };
      const pending = stage.coordinator.submit(request, reply);
      assert.equal(pending?.callOff?.(), areHere);
      assert.equal(pending?.callOff?.(), false);
      // A home elsewhere says by itself that nothing was decided.
      assert.equal(areHere ? reply.open : reply.refusal.kind, areHere || 'cancelled');
      assert.equal(stage.await('x', 0, 'wide').value.state, 'unknown');
    }
  });

  it('items without a key and without an id have an id of which the home can be told', () => {
    const stage = wide();
    const { results } = stage.submit(
      Array.from({ length: 8 }, () => ({ key: '' })),
      { queue: 'wide' },
    ).value;
    const ids = results.map(({ itemId }) => itemId);
    assert.equal(new Set(ids).size, 8);
    for (const id of ids) {
      assert.match(id, /^m1-/);
      assert.equal(stage.await(id, 0, 'wide').value.state, 'waiting');
    }
  });

  it('S270: keyless turns are settled and renewed by their token', () => {
    const stage = wide();
    stage.submit(
      Array.from({ length: 12 }, (_, at) => ({ key: '', itemId: `i${at}` })),
      { queue: 'wide' },
    );
    const turns = [];
    for (let at = 0; at < 12; at += 1) turns.push(stage.take({ queues: ['wide'] }).turn);
    assert.ok(new Set(turns.map(({ token }) => token % 4)).size > 1, 'of several partitions');
    assert.ok(stage.renew(turns).every(({ alive }) => alive));
    for (const [at, turn] of turns.entries()) assert.ok((at % 2 === 0 ? stage.ack(turn) : stage.nack(turn)).value);
    assert.equal(stage.ack({ ...(turns[0] ?? assert.fail()), token: 0 }).refusal.kind, 'turn_lost');
  });

  it('S259: Await finds an item wherever it is, waits for it, and knows nothing only if everybody said so', () => {
    const stage = wide();
    for (let p = 0; p < 4; p += 1) stage.submit([{ itemId: `i${p}`, key: stage.keyAt('wide', p) }], { queue: 'wide' });
    for (let p = 0; p < 4; p += 1) assert.equal(stage.await(`i${p}`, 0, 'wide').value.state, 'waiting');
    assert.equal(stage.await('never', 60_000, 'wide').value.state, 'unknown');
    const call = stage.await('i3', 60_000, 'wide');
    for (let at = 0; at < 4; at += 1) stage.ack(stage.take({ queues: ['wide'] }).turn);
    assert.equal(call.value.state, 'done');
    stage.homes.set(2, undefined);
    const unsure = stage.await('never', 3_000, 'wide');
    stage.advance(3_000);
    assert.equal(unsure.refusal.kind, 'no_home');
    assert.equal(stage.coordinator.stats().waitingCalls, 0);
  });

  it('a worker takes from all its parts', () => {
    const stage = wide();
    const call = stage.acquire({ queues: ['wide'], wait: 60_000 });
    stage.submit([{ itemId: 'i', key: stage.keyAt('wide', 2) }], { queue: 'wide' });
    assert.deepEqual(idsOf(call), [['i']]);
  });
});
