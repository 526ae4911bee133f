/** What is written by hand is what the proto says; what a stranger sends ends the link and nothing else. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Refusal } from '../../../src/coordinator.js';
import { LinkRequest, LinkResponse } from '../../../src/grpc/gen/keyturn/peer/v1/peer.js';
import { RefusalBytes, readRefusal } from '../../../src/grpc/peer/codec/refusals.js';
import { WireReader } from '../../../src/grpc/peer/codec/wire-reader.js';
import { WireWriter } from '../../../src/grpc/session/codec/wire-writer.js';
import { turnOf } from '../../contract/stage.js';
import { Call } from '../../support/call.js';
import { LinkStage } from './link-stage.js';

const FULL = { subject: 's', limit: 3, description: 'd', retryAfter: 0.5 };
const REFUSALS: { readonly [K in Refusal['kind']]: readonly Refusal[] } = {
  bad_request: [{ kind: 'bad_request', violations: [{ field: 'items[3].key', description: 'ä\u2028' }] }],
  no_credentials: [{ kind: 'no_credentials', description: 'd' }],
  not_allowed: [{ kind: 'not_allowed', principal: 'p', verb: 'view', what: 'queue q' }],
  turn_lost: [{ kind: 'turn_lost', queue: 'q', key: 'k', cause: 'taken_over' }],
  use_ack: [{ kind: 'use_ack', queue: 'q', key: '' }],
  at_most_once: [{ kind: 'at_most_once', queue: 'q', key: 'k' }],
  queue_full: [{ kind: 'queue_full', ...FULL }],
  limit: [{ kind: 'limit', ...FULL }],
  memory_full: [{ kind: 'memory_full', ...FULL, limit: Number.POSITIVE_INFINITY }],
  no_such_queue: [{ kind: 'no_such_queue', queue: 'q' }],
  no_such: [
    { kind: 'no_such', what: 'item', queue: 'q', name: 'n', ended: 'done' },
    { kind: 'no_such', what: 'item', queue: 'q', name: 'n', ended: undefined },
    { kind: 'no_such', what: 'key', queue: 'q', name: 'n' },
  ],
  not_delayed: [
    { kind: 'not_delayed', because: 'parked', queue: 'q', key: 'k', itemId: 'i' },
    {
      kind: 'not_delayed',
      because: 'waits_for_items',
      queue: 'q',
      key: 'k',
      itemId: 'i',
      after: [{ queue: 'r', itemId: 'j' }],
      afterCount: 7,
    },
  ],
  draining: [{ kind: 'draining', retryAfter: 1_000 }],
  store_unavailable: [{ kind: 'store_unavailable', description: 'd', retryAfter: 1 }],
  no_home: [{ kind: 'no_home', partition: 63, description: 'd', retryAfter: 1 }],
  other_group: [
    { kind: 'other_group', field: 'next.queues[1]', queue: 'q', group: 'g', other: 'o' },
    { kind: 'other_group', field: 'next.queues[1]', queue: 'q', group: 'g', other: 'o', unfixed: true },
  ],
  not_possible: [{ kind: 'not_possible', because: 'not_movable', description: 'd' }],
  session_replaced: [
    { kind: 'session_replaced', sessionId: 's' },
    { kind: 'session_replaced', sessionId: 's', newer: { at: 5, by: 'b' } },
  ],
  cancelled: [{ kind: 'cancelled' }],
};

describe('S294: every refusal travels as it is', () => {
  for (const [kind, refusals] of Object.entries(REFUSALS)) {
    it(kind, () => {
      const written = new RefusalBytes();
      for (const refusal of refusals) assert.deepEqual(readRefusal(Buffer.from(written.of(refusal))), refusal);
    });
  }

  it('and what a newer release adds to one is passed over', () => {
    const bytes = Buffer.from(JSON.stringify({ kind: 'use_ack', queue: 'q', key: 'k', hint: 'new' }));
    assert.deepEqual(readRefusal(bytes), { kind: 'use_ack', queue: 'q', key: 'k' });
    assert.throws(() => readRefusal(Buffer.from('{"kind":"constructor"}')), /kind is not allowed/);
    assert.throws(
      () => readRefusal(Buffer.from('{"kind":"use_ack","queue":7}')),
      /queue is not allowed; allowed: a text/,
    );
  });
});

describe('messages of a link', () => {
  it('are those of the proto', async () => {
    const asked: LinkRequest[] = [];
    const told: LinkResponse[] = [];
    const stage = new LinkStage();
    for (const pipe of [stage.small, stage.large]) {
      spy(pipe.up, (bytes) => asked.push(LinkRequest.decode(bytes)));
      spy(pipe.down, (bytes) => told.push(LinkResponse.decode(bytes)));
    }
    const one = stage.session('s');
    const { ok } = stage.remote.openSession(one);
    const held = one.worker.enQueue({ key: 'a', maxWait: 0, ticket: 't', wait: 1_500 });
    stage.settle();
    one.worker.end(turnOf(held));
    stage.remote.undeliverable([turnOf(held)], true);
    const waits = stage.worker.acquire({ wait: 1_000 });
    stage.settle();
    waits.cancel(true);
    const explained = stage.remote.admin.ask('explainKey', { queue: 'q', key: 'a' });
    stage.settle();
    await new Promise((resolve) => setImmediate(resolve));
    stage.settle();
    assert.ok((await explained).ok);
    one.session.close();
    stage.settle();
    assert.ok(ok);
    const calls = asked.flatMap((message) => message.calls);
    assert.deepEqual(
      calls.map(({ session, partition, maxWait, command }) => [session, partition, maxWait, command?.call?.$case]),
      [
        [1, 3, 0n, 'hello'],
        [1, 3, 1n, 'enqueue'],
        [1, 3, 0n, 'dequeue'],
        [0, 3, 0n, 'acquire'],
      ],
    );
    assert.deepEqual(
      asked.flatMap((message) => message.opens),
      [
        { session: 1, partition: 3 },
        { session: 2, partition: 3 },
      ],
    );
    assert.deepEqual(
      asked.flatMap((message) => message.closes),
      [{ session: 1 }],
    );
    assert.deepEqual(
      asked.flatMap((message) => message.cancels.map(({ leave, unlessDecided }) => [leave, unlessDecided])),
      [[true, false]],
    );
    assert.deepEqual(
      asked.flatMap((message) => message.undeliverable.map(({ turns, unwanted }) => [turns.length, unwanted])),
      [[1, true]],
    );
    assert.match(String(Buffer.from(asked.flatMap((message) => message.adminCalls)[0]?.request ?? [])), /explainKey/);
    assert.deepEqual(
      told.flatMap((message) => message.replies.map(({ outcome }) => outcome?.$case)),
      ['hello', 'enqueue', 'dequeue'],
    );
    assert.equal(told.flatMap((message) => message.refused).length, 1);
    assert.equal(told.flatMap((message) => message.adminAnswers).length, 1);
    assert.ok(asked.every(({ number, routes }) => number === 0n || routes === 1n));
  });

  it('a hello carries its stamp', () => {
    const asked: LinkRequest[] = [];
    const stage = new LinkStage();
    spy(stage.small.up, (bytes) => asked.push(LinkRequest.decode(bytes)));
    const opened = stage.remote.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(opened.ok);
    const stamp = { at: 1_790_000_000_123, by: 'incarnation' };
    opened.value.hello({ consumerId: 'c', sessionId: 's', ttl: undefined, stamp }, new Call());
    stage.settle();
    const [call] = asked.flatMap((message) => message.calls);
    assert.deepEqual([call?.stampAt, call?.stampBy], [1_790_000_000_123n, 'incarnation']);
  });

  it('S354: who asks travels with what people ask and watch, and is told to the home; a name that is too long ends the link', async () => {
    for (const [principal, told] of [
      ['', []],
      ['ada', ['ada', 'ada']],
      ['ä'.repeat(128), ['ä'.repeat(128), 'ä'.repeat(128)]],
      ['ä'.repeat(129), []],
    ] as const) {
      const stage = new LinkStage();
      const heard: string[] = [];
      const { admin } = stage.home;
      const { ask, watch } = admin;
      admin.ask = (kind, request, by?: string) => {
        if (by !== undefined) heard.push(by);
        return ask.call(admin, kind, request);
      };
      admin.watch = (queue, key, watcher, by?: string) => {
        if (by !== undefined) heard.push(by);
        return watch.call(admin, queue, key, watcher);
      };
      void stage.remote.admin.ask('explainKey', { queue: 'q', key: 'a' }, principal);
      stage.settle();
      stage.remote.admin.watch(undefined, undefined, { wake: () => undefined, end: () => undefined }, principal);
      stage.settle();
      assert.deepEqual(heard, told);
    }
  });

  it('S295: bytes that are no message end the link and nothing else: the next life of it begins', () => {
    const property = fc.property(
      fc.constantFrom('up', 'down'),
      fc.constantFrom('small', 'large'),
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
      fc.boolean(),
      (way, lane, garbage, isNumbered) => {
        const stage = new LinkStage();
        const call = stage.worker.enQueue({ key: 'a', wait: 60_000 });
        stage.settle();
        const header = isNumbered ? Buffer.from([0x08, lane === 'small' ? 2 : 1]) : Buffer.alloc(0);
        stage[lane][way].send(Buffer.concat([header, garbage]), () => undefined);
        stage.advance(3_000);
        const again = stage.worker.enQueue({ key: 'b' });
        stage.settle();
        assert.equal(again.value.decision, 'accept');
        assert.ok(!call.open);
      },
    );
    fc.assert(property, { numRuns: 150, seed: 7 });
  });

  it('S295: a message of which one byte is another one never takes the process down', () => {
    const property = fc.property(
      fc.constantFrom('up', 'down'),
      fc.nat(400),
      fc.integer({ min: 1, max: 255 }),
      fc.nat(6),
      (way, at, change, which) => {
        const stage = new LinkStage();
        let left = which;
        const pipe = stage.small;
        alter(pipe[way], (bytes) => {
          if (left-- !== 0) return bytes;
          const altered = Buffer.from(bytes);
          const index = at % altered.length;
          altered[index] = (altered[index] ?? 0) ^ change;
          return altered;
        });
        const one = stage.session('s');
        for (const key of ['a', 'b', 'c']) one.worker.enQueue({ key, ticket: `t${key}` });
        stage.settle();
        one.worker.submit([{ itemId: 'i', payload: new Uint8Array(20) }]);
        stage.settle();
        one.worker.acquire();
        stage.settle();
        one.worker.await('i');
        stage.advance(5_000);
        const again = stage.worker.enQueue({ key: 'other' });
        stage.advance(5_000);
        assert.ok(!again.open);
      },
    );
    fc.assert(property, { numRuns: 200, seed: 7 });
  });
});

describe('WireReader', () => {
  it('reads the numbers that the writer writes', () => {
    const property = fc.property(fc.maxSafeNat(), (number) => {
      const out = new WireWriter();
      out.varint(1, number);
      const reader = new WireReader().over(out.take());
      assert.equal(reader.field(), 1);
      assert.equal(reader.number(), number);
      assert.equal(reader.field(), 0);
    });
    fc.assert(property, { numRuns: 300 });
  });

  const malformed: readonly [string, number[]][] = [
    ['a number without end', [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['a number above 2^53', [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['a number that is cut off', [0x08, 0x80]],
    ['bytes that are cut off', [0x12, 0x05, 0x01]],
    ['the field 0', [0x00]],
    ['a group', [0x0b]],
  ];
  for (const [what, given] of malformed) {
    it(`does not read ${what}`, () => {
      const reader = new WireReader().over(Buffer.from(given));
      assert.throws(() => {
        const field = reader.field();
        if (field === 1) reader.number();
        else reader.window();
      }, RangeError);
    });
  }
});

interface Sends {
  send(bytes: Buffer, left: () => void): void;
}

function spy(way: Sends, see: (bytes: Buffer) => void): void {
  alter(way, (bytes) => {
    see(bytes);
    return bytes;
  });
}

function alter(way: Sends, change: (bytes: Buffer) => Buffer): void {
  const send = way.send.bind(way);
  way.send = (bytes, left) => send(change(bytes), left);
}
