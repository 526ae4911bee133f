/** What crosses on a link, in both orders. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CoordinatorEvent, EnQueueAnswer, RenewAnswer, Reply, SubmitAnswer } from '../../../src/coordinator.js';
import { bytesOfPayload } from '../../../src/core/contract/payload.js';
import { TELL } from '../../../src/grpc/peer/codec/entries.js';
import { HEADER_BYTES, NO_HEADER, putHeader } from '../../../src/grpc/peer/codec/header.js';
import { WireWriter } from '../../../src/grpc/session/codec/wire-writer.js';
import { FakeHome } from '../../cluster/routing/fake-homes.js';
import { told, turnOf } from '../../contract/stage.js';
import { newItem, QUEUE } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { LinkedSession, LinkStage, PARTITION } from './link-stage.js';

const MIB = 1_048_576;

describe('a cancel and an answer that cross on a link', () => {
  it('the answer was on its way first: its turn is taken back at the home at once', () => {
    const stage = new LinkStage();
    stage.small.down.isHeld = true;
    const call = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.ok(!stage.isFree('a'), 'the home has given it');
    call.cancel();
    stage.settle();
    stage.small.down.isHeld = false;
    stage.small.down.flow();
    stage.settle();
    assert.equal(call.outcome, undefined);
    assert.ok(stage.isFree('a'));
  });

  it('the cancel was first: the home gives nothing, and forgets the call', () => {
    const stage = new LinkStage();
    const holder = stage.there.enQueue({ key: 'a' });
    const call = stage.worker.enQueue({ key: 'a', wait: 60_000 });
    stage.settle();
    call.cancel();
    stage.settle();
    stage.there.end(turnOf(holder));
    stage.settle();
    assert.equal(call.outcome, undefined);
    assert.ok(stage.isFree('a'));
  });

  it('S285: with a ticket the turn waits for its holder; who leaves leaves the turn too', () => {
    for (const leave of [false, true]) {
      const stage = new LinkStage();
      stage.small.down.isHeld = true;
      const call = stage.worker.enQueue({ key: 'a', ticket: 't' });
      stage.settle();
      call.cancel(leave);
      stage.settle();
      stage.small.down.isHeld = false;
      stage.small.down.flow();
      stage.settle();
      assert.equal(stage.isFree('a'), leave);
    }
  });

  it('what cannot be undone is answered all the same, or refused as cancelled, as the home decides', () => {
    const stage = new LinkStage({ queues: { q: { maxWaiting: 1 } } });
    stage.worker.items('first');
    const waits = new Call<SubmitAnswer>();
    const items = [newItem({ itemId: 'second' })];
    const pending = stage.remote.submit({ queue: QUEUE, items, waitForRoom: 60_000, durability: undefined }, waits);
    stage.settle();
    assert.ok(waits.open);
    assert.equal(pending?.callOff?.(), false, 'only the home knows');
    stage.settle();
    assert.equal(waits.refusal.kind, 'cancelled');
  });
});

describe('a close and an answer that cross on a link', () => {
  it('a turn that was given to a stream that is gone lives as long as its ttl', () => {
    const stage = new LinkStage();
    const one = stage.session('s', 5_000);
    stage.settle();
    const call = one.worker.enQueue({ key: 'a' });
    one.session.close();
    stage.settle();
    assert.equal(call.value.decision, 'accept');
    assert.ok(!stage.isFree('a'));
    stage.advance(5_000);
    assert.ok(stage.isFree('a'));
  });

  it('S286: an answer that reached nobody: its turn is taken back though the stream is closed', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    const call = one.worker.enQueue({ key: 'a' }, false);
    one.session.close();
    stage.settle();
    assert.equal(call.value.decision, 'accept');
    assert.ok(stage.isFree('a'));
  });
});

describe('what is large and what is small', () => {
  it('S287: what a session asks stays in order, whatever its size', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    stage.large.up.isHeld = true;
    const submitted = one.worker.submit([{ key: '', itemId: 'large', payload: new Uint8Array(MIB) }]);
    const awaited = one.worker.await('large');
    stage.settle();
    assert.ok(submitted.open && awaited.open, 'the small call waits behind the large one');
    stage.large.up.isHeld = false;
    stage.large.up.flow();
    stage.settle();
    assert.equal(submitted.value.results.length, 1);
    assert.equal(awaited.value.state, 'waiting');
  });

  it('S287: a large call waits for what its session asked before', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    stage.small.up.isHeld = true;
    const before = one.worker.await('large');
    const submitted = one.worker.submit([{ key: '', itemId: 'large', payload: new Uint8Array(MIB) }]);
    stage.settle();
    assert.ok(before.open && submitted.open);
    stage.small.up.isHeld = false;
    stage.small.up.flow();
    stage.settle();
    assert.equal(before.value.state, 'unknown');
    assert.equal(submitted.value.results.length, 1);
  });

  it('S287: a renewal overtakes megabytes, and so do the calls of others', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    const held = one.worker.enQueue({ key: 'a', lease: 1_000 });
    stage.settle();
    stage.large.up.isHeld = true;
    one.worker.submit([{ payload: new Uint8Array(MIB) }]);
    const renewed = new Call<RenewAnswer>();
    one.session.renew({ turns: [turnOf(held)], lease: undefined }, renewed);
    const other = stage.worker.enQueue({ key: 'b' });
    stage.settle();
    assert.deepEqual(
      renewed.value.results.map(({ alive }) => alive),
      [true],
    );
    assert.equal(other.value.decision, 'accept');
  });

  it('S287: a notice does not overtake the large answer that gave its turn', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    stage.worker.submit([{ itemId: 'large', payload: new Uint8Array(MIB) }]);
    stage.settle();
    stage.large.down.isHeld = true;
    const taken = one.worker.acquire({ lease: 1_000 });
    stage.settle();
    stage.clock.advance(1_000);
    stage.settle();
    assert.ok(taken.open);
    assert.equal(one.notices.length, 0, 'nothing is told of a turn that nobody knows');
    stage.large.down.isHeld = false;
    stage.large.down.flow();
    stage.settle();
    assert.equal(taken.value.deliveries.length, 1);
    assert.deepEqual(
      one.notices.map(({ kind }) => kind),
      ['turn_ending', 'turn_lost'],
    );
  });

  it('S287: a large answer holds up no other unary call', () => {
    const stage = new LinkStage();
    stage.worker.submit([{ itemId: 'large', payload: new Uint8Array(MIB) }]);
    stage.settle();
    stage.large.down.isHeld = true;
    const taken = stage.worker.acquire();
    const other = stage.worker.enQueue({ key: 'b' });
    stage.settle();
    const later = stage.worker.enQueue({ key: 'c' });
    stage.settle();
    assert.ok(taken.open && !other.open && !later.open);
  });

  it('an answer of 3 MiB and more comes whole', () => {
    const stage = new LinkStage();
    const payload = new Uint8Array(MIB).fill(7);
    for (const itemId of ['1', '2', '3']) stage.worker.submit([{ itemId, payload, headers: new Map([['name', 'ä']]) }]);
    stage.settle();
    const taken = stage.worker.acquire({ maxItemsPerTurn: 3 });
    stage.settle();
    const [delivery] = taken.value.deliveries;
    assert.ok(delivery !== undefined && delivery.items.length >= 2, 'more than one MiB');
    assert.deepEqual(delivery.items[0]?.headers, new Map([['name', 'ä']]));
    const given = bytesOfPayload(delivery.items[0]?.payload ?? new Uint8Array());
    assert.ok(payload.every((byte, at) => given[at] === byte));
    assert.equal(given.length, MIB);
  });

  it('a window that is full holds the rest back, and more than is kept is refused', () => {
    const stage = new LinkStage({ limits: { payloadMemoryBytes: 1_000 * MIB } });
    const { up } = stage.large;
    up.isHeld = true;
    let sent = 0;
    const send = up.send.bind(up);
    up.send = (message, left) => {
      sent += message.length;
      // It leaves this process at once, and arrives nowhere.
      send(message, () => undefined);
      left();
    };
    const calls = Array.from({ length: 150 }, () => stage.worker.submit([{ payload: new Uint8Array(MIB) }]));
    stage.settle();
    assert.ok(sent > 30 * MIB && sent < 36 * MIB, `${sent} bytes are on their way`);
    const refused = calls.filter(({ open }) => !open);
    assert.ok(refused.length > 10 && refused.length < 40, `${refused.length} were refused`);
    assert.deepEqual(new Set(refused.map(({ refusal }) => refusal.kind)), new Set(['limit']));
    stage.large.up.isHeld = false;
    stage.large.up.flow();
    for (let i = 0; i < 50; i++) stage.settle();
    assert.deepEqual(calls.filter(({ open }) => open).length, 0);
  });
});

describe('what a home sends by mistake', () => {
  it('an answer of another kind, or none: the link ends, and the call is told that its answer is lost', () => {
    for (const outcome of [3, undefined]) {
      const stage = new LinkStage();
      stage.there.enQueue({ key: 'a' });
      const call = stage.worker.enQueue({ key: 'a', wait: 60_000 });
      stage.settle();
      assert.ok(call.open);
      const out = new WireWriter(HEADER_BYTES);
      const reply = out.open(TELL.replies);
      out.number(1, 1);
      if (outcome !== undefined) out.close(out.open(outcome));
      out.close(reply);
      stage.small.down.send(putHeader(out.take(out.length), { ...NO_HEADER, number: 1 }), () => undefined);
      stage.settle();
      assert.equal(call.refusal.kind, 'store_unavailable');
    }
  });

  it('it fails inside and answers the call later all the same: no other call gets that', () => {
    const stage = new LinkStage();
    const home = new FakeHome(stage.home, PARTITION);
    stage.homeNow = home;
    const kept: Reply<EnQueueAnswer>[] = [];
    home.enQueue = (_request, reply) => {
      if (kept.push(reply) === 1) throw new Error('the test breaks it');
      return { cancel: () => undefined };
    };
    const first = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(first.refusal.kind, 'store_unavailable');
    const second = stage.worker.enQueue({ key: 'b', wait: 60_000 });
    stage.settle();
    kept[0]?.refuse({ kind: 'cancelled' });
    stage.settle();
    assert.ok(second.open);
  });
});

it('a session that another stream has taken meanwhile at the next coordinator of its partition is told so', () => {
  const stage = new LinkStage();
  const next = new LinkStage();
  const one = new LinkedSession(stage.remote, 's', 10_000, { at: 1, by: 'a' });
  stage.settle();
  assert.equal(one.hello.value.sessionId, 's');
  new LinkedSession(next.home, 's', 10_000, { at: 2, by: 'b' });
  stage.homeNow = next.home;
  one.worker.enQueue({ key: 'a' });
  stage.settle();
  next.settle();
  stage.settle();
  assert.ok(one.wasReplaced);
});

describe('events that are many and cross a few', () => {
  it('come in their order', () => {
    const stage = new LinkStage();
    const ready: CoordinatorEvent[][] = [];
    let wake = (): void => undefined;
    stage.home.admin.watch = (_queue, _key, watcher) => {
      wake = () => watcher.wake();
      return {
        ok: true,
        value: { take: () => ({ events: ready.shift() ?? [], missed: 0 }), stop: () => undefined },
      };
    };
    const seen: number[] = [];
    const watch = told(stage.remote.admin.watch(undefined, undefined, { wake: () => take(), end: () => undefined }));
    const take = (): void => {
      for (let some = watch.take().events; some.length > 0; some = watch.take().events)
        seen.push(...some.map(({ at }) => at));
    };
    stage.settle();
    ready.push(
      Array.from({ length: 500 }, (_, at) => event(at)),
      [event(500)],
    );
    wake();
    stage.advance(1_000);
    take();
    assert.deepEqual(
      seen,
      Array.from({ length: 501 }, (_, at) => at),
    );
  });

  function event(at: number): CoordinatorEvent {
    const nothing = { token: undefined, itemId: undefined, consumerId: undefined, detail: undefined };
    return { kind: 'arrival', at, queue: QUEUE, key: 'k'.repeat(200), ...nothing };
  }
});

describe('S576: turns that nobody learnt of, while their partition is not open at the home', () => {
  for (const onSession of [false, true]) {
    it(`are taken back when it opens again${onSession ? ', on a session too' : ''}`, () => {
      for (const beats of [1, 19, 21]) {
        const stage = new LinkStage();
        const session = stage.session('s', 60_000);
        const worker = onSession ? session.worker : stage.worker;
        const held = worker.enQueue({ key: 'a' });
        stage.settle();
        stage.homeNow = undefined;
        (onSession ? session.session : stage.remote).undeliverable([turnOf(held)]);
        for (let beat = 0; beat < beats; beat += 1) stage.advance(500);
        assert.ok(!stage.isFree('a'));
        stage.homeNow = stage.home;
        stage.advance(500);
        assert.equal(stage.isFree('a'), beats <= 19, `after ${beats} beats`);
      }
    });
  }
});
