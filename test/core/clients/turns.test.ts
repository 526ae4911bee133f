/** S657, S658: a principal holds no more live turns than `auth.per_client.turns`, and holds up nobody. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AcquireAnswer, EnQueueAnswer } from '../../../src/coordinator.js';
import type { Call } from '../../support/call.js';
import { bound, Charged, submitAs, TURNS } from './charged.js';

const FULL = ['limit', TURNS, 2, 1_000] as const;
const ADA = { principal: 'ada' };
const BOB = { principal: 'bob' };

function two(change: ConstructorParameters<typeof Charged>[0] = {}): Charged {
  return new Charged({ ...change, perClient: { turns: 2 } });
}

function tokenOf(call: Call<EnQueueAnswer>): number {
  const { value } = call;
  assert.ok(value.decision === 'accept', `the turn, not ${value.decision}`);
  return value.turn.token;
}

function takenBy(call: Call<AcquireAnswer>): readonly string[] {
  return call.value.deliveries.map(({ turn }) => turn.key);
}

/** Ada holds as many turns as she may, of the keys a and b. */
function full(stage: Charged, lease?: number): readonly [a: number, b: number] {
  const a = tokenOf(stage.enQueue('a', { key: 'a', lease, ...ADA }));
  const b = tokenOf(stage.enQueue('b', { key: 'b', lease, ...ADA }));
  assert.equal(stage.held('ada')[0], 2);
  return [a, b];
}

describe('S657: a call that would bring a turn too many is refused', () => {
  it('EnQueue, until a turn of the principal has ended; others and nobody are not bounded by it', () => {
    const stage = two();
    const [a] = full(stage);
    assert.deepEqual(bound(stage.enQueue('c', { key: 'c', ...ADA })), FULL);
    tokenOf(stage.enQueue('c', { key: 'c', ...BOB }));
    for (const key of ['d', 'e', 'f']) tokenOf(stage.enQueue('n', { key }));
    stage.deQueue('a', { key: 'a', holder: { token: a } });
    tokenOf(stage.enQueue('g', { key: 'g', ...ADA }));
    assert.deepEqual(bound(stage.enQueue('h', { key: 'h', ...ADA })), FULL);
  });

  it('Acquire with a key, and Acquire where an item is ready', () => {
    const stage = two();
    full(stage);
    assert.deepEqual(bound(stage.acquire('w', { key: 'c', ...ADA })), FULL);
    assert.deepEqual(takenBy(stage.acquire('w', ADA)), [], 'nothing is ready');
    submitAs(stage, 'bob', [{ key: 'i' }]);
    assert.deepEqual(bound(stage.acquire('w', ADA)), FULL);
    assert.deepEqual(takenBy(stage.acquire('w', BOB)), ['i']);
  });

  it('an answer brings as many turns as the principal may have still', () => {
    const stage = two();
    submitAs(
      stage,
      undefined,
      ['i', 'j', 'k'].map((key) => ({ key })),
    );
    assert.deepEqual(takenBy(stage.acquire('w', { ...ADA, maxTurns: 3 })), ['i', 'j']);
    assert.deepEqual(takenBy(stage.acquire('w', { ...BOB, maxTurns: 3 })), ['k']);
  });

  it('every end of a turn makes room: settled, over, evicted, given back, taken over, nobody learnt of it', () => {
    const stage = two({ queues: { q: { onWaitTimeout: 'take_over', wait: 0 } } });
    const ends: Readonly<Record<string, (key: string, token: number) => unknown>> = {
      dequeue: (key, token) => stage.deQueue('e', { key, holder: { token } }),
      abandoned: (key, token) => stage.deQueue('e', { key, holder: { token }, abandoned: true }),
      ack: (key, token) => stage.ack('e', { key, token }),
      nack: (key, token) => stage.nack('e', { key, token, kind: 'release' }),
      lease: () => stage.pass(60_000),
      evict: (key) =>
        stage.person(
          (now) => stage.core.evictHolder('q', key, now),
          () => 'evicted',
        ),
      unknown: (key, token) => {
        stage.core.undeliverable([{ queue: 'q', key, token }], stage.now);
        stage.carry();
      },
      'taken over': (key) => {
        const other = stage.enQueue('o', { key, wait: 1, ticket: 't', ...BOB });
        stage.pass(1);
        tokenOf(other);
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const token = tokenOf(stage.enQueue('a', { key: name, ...ADA }));
      assert.equal(stage.held('ada')[0], 1, name);
      end(name, token);
      assert.deepEqual(stage.held('ada'), [0, 0], name);
      // An idle key must not keep alive what is forgotten.
      const { phase, spare } = stage.core.inside.queues.get('q')?.lanes.get(name) ?? {};
      assert.ok(phase?.at === 'HELD' || (spare !== undefined && spare.account === undefined), name);
    }
  });

  it('a ticket that comes back to its turn gets that turn, and a session keeps what it holds', () => {
    const stage = two();
    const token = tokenOf(stage.enQueue('a', { key: 'a', ticket: 't', ...ADA }));
    const stream = stage.open();
    assert.ok(stream.ok);
    stage.on = stream.value;
    stage.hello('a', stream.value, 'session', 10_000);
    tokenOf(stage.enQueue('b', { key: 'b', ...ADA }));
    stage.core.closeStream(stream.value, stage.now);
    stage.on = undefined;
    assert.equal(tokenOf(stage.enQueue('a', { key: 'a', ticket: 't', ...ADA })), token);
    const again = stage.open();
    assert.ok(again.ok);
    assert.equal(stage.hello('a', again.value, 'session', 10_000).value.turnCount, 1);
    assert.deepEqual(bound(stage.enQueue('c', { key: 'c', ...ADA })), FULL);
    stage.core.closeStream(again.value, stage.now);
    stage.pass(60_000);
    assert.deepEqual(stage.held('ada'), [0, 0]);
  });
});

describe('S658: who waits for a turn that would be one too many waits no longer', () => {
  it('a caller is refused when its turn comes, and the key goes on with the next', () => {
    const stage = two({ queues: { q: { waitingPerKey: 'unlimited' } } });
    const holder = tokenOf(stage.enQueue('h', { key: 'k', ...BOB }));
    const first = stage.enQueue('f', { key: 'k', wait: 60_000, ...ADA });
    const absent = stage.enQueue('t', { key: 'k', wait: 0, ticket: 't', ...ADA });
    const next = stage.enQueue('n', { key: 'k', wait: 60_000, ...BOB });
    assert.equal(absent.value.decision, 'block');
    full(stage);
    assert.ok(first.open, 'as long as its turn has not come');
    stage.deQueue('h', { key: 'k', holder: { token: holder } });
    assert.deepEqual(bound(first), FULL);
    tokenOf(next);
    assert.deepEqual(stage.held('ada')[0], 2);
    assert.deepEqual(bound(stage.enQueue('t', { key: 'z', ticket: 't', ...ADA })), FULL);
  });

  it('gets its turn if its principal has room by then', () => {
    const stage = two();
    const holder = tokenOf(stage.enQueue('h', { key: 'k', ...BOB }));
    const first = stage.enQueue('f', { key: 'k', wait: 60_000, ...ADA });
    const [a] = full(stage);
    stage.deQueue('a', { key: 'a', holder: { token: a } });
    stage.deQueue('h', { key: 'k', holder: { token: holder } });
    tokenOf(first);
  });

  it('an Acquire that waits longest is refused when an item is ready, and the next one gets the item', () => {
    const stage = two();
    full(stage);
    const ada = stage.acquire('w', { wait: 60_000, ...ADA });
    const bob = stage.acquire('w', { wait: 60_000, ...BOB });
    assert.ok(ada.open && bob.open);
    submitAs(stage, undefined, [{ key: 'i' }]);
    assert.deepEqual(bound(ada), FULL);
    assert.deepEqual(takenBy(bob), ['i']);
  });

  it('behind a gate too: the place at the gate is for the next', () => {
    const stage = two({ queues: { q: {}, gated: { maxInFlight: 1 } } });
    const holder = tokenOf(stage.enQueue('h', { queue: 'gated', key: 'h', ...BOB }));
    const ada = stage.enQueue('x', { queue: 'gated', key: 'x', wait: 60_000, ...ADA });
    const bob = stage.enQueue('y', { queue: 'gated', key: 'y', wait: 60_000, ...BOB });
    full(stage);
    stage.deQueue('h', { queue: 'gated', key: 'h', holder: { token: holder } });
    assert.deepEqual(bound(ada), FULL);
    tokenOf(bob);
  });

  it('the next of an Ack comes back empty, and the Ack is carried out', () => {
    const stage = new Charged({ perClient: { turns: 1 } });
    submitAs(
      stage,
      undefined,
      ['i', 'j', 'k'].map((key) => ({ key })),
    );
    const [delivery] = stage.acquire('w', ADA).value.deliveries;
    assert.ok(delivery !== undefined);
    const { key, token } = delivery.turn;
    const waiting = stage.acquire('v', { wait: 60_000, ...ADA });
    assert.ok(!waiting.open, 'refused at once: an item is ready');
    const next = { queues: ['q'], key: undefined, consumerId: 'w', ticket: undefined, maxTurns: 2 } as const;
    const request = { ...next, maxItemsPerTurn: 1, wait: 0, lease: undefined, ...ADA };
    const acked = stage.ack('w', { key, token, next: request });
    assert.equal(acked.value.next?.deliveries.length, 1, 'the turn that ended made room for one');
    const of = stage.submit('s', [{ key: 'l' }]);
    assert.ok(!of.open);
    const other = tokenOf(stage.enQueue('o', { key: 'o', ...BOB }));
    const empty = stage.ack('o', { key: 'o', token: other, next: request });
    assert.deepEqual(empty.value.next?.deliveries, []);
    assert.equal(stage.held('bob')[0], 0);
  });

  it('drives nobody out for a turn that it may not have', () => {
    const stage = two({ queues: { q: { onWaitTimeout: 'take_over', wait: 0 } } });
    const token = tokenOf(stage.enQueue('h', { key: 'k', lease: 60_000, ...BOB }));
    full(stage, 60_000);
    const ada = stage.enQueue('w', { key: 'k', wait: 5, ...ADA });
    stage.pass(5);
    assert.equal(ada.value.decision, 'block');
    assert.deepEqual(
      stage.renew('h', token, 'q', 'k').value.results.map(({ alive }) => alive),
      [true],
    );
    const own = stage.enQueue('w', { key: 'a', wait: 5, ...ADA });
    stage.pass(5);
    assert.equal(own.value.decision, 'accept', 'in the place of a turn of its own');
  });

  it('WatchEvents reports that the caller left', () => {
    const stage = two();
    stage.core.watching = true;
    const holder = tokenOf(stage.enQueue('h', { key: 'k', ...BOB }));
    stage.enQueue('f', { key: 'k', wait: 60_000, ...ADA });
    full(stage);
    stage.deQueue('h', { key: 'k', holder: { token: holder } });
    const [left] = stage.events.filter(({ kind }) => kind === 'leaving');
    assert.deepEqual([left?.consumerId, left?.detail], ['f', 'refused']);
  });
});
