/** What one partition brings to another travels as it is, and so does what is said to it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bytesOfPayload,
  type Coordinator,
  type DeliverAnswer,
  type DeliverRequest,
  type Reply,
} from '../../../src/coordinator.js';
import { newItem, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { LinkStage } from './link-stage.js';

function scene(deliver: Coordinator['deliver'], change: SettingsChange = {}) {
  const stage = new LinkStage(change);
  const home: Coordinator = Object.create(stage.home);
  stage.homeNow = deliver === undefined ? stage.home : Object.assign(home, { deliver });
  const ask = (request: DeliverRequest) => {
    const call = new Call<DeliverAnswer>();
    stage.remote.deliver?.(request, call);
    stage.settle();
    return call;
  };
  return { stage, ask };
}

const plain = (itemId: string, size: number) => ({
  queue: 'q',
  item: newItem({ itemId, payload: new Uint8Array(size).fill(7) }),
});
const whole = newItem({
  key: 'schlüssel',
  payload: Uint8Array.of(0, 255),
  headers: new Map([['a', 'b']]),
  itemId: '~x.0',
  idempotencyKey: 'ik',
  delay: 1_500,
  after: [{ queue: 'q', itemId: 'x' }],
  afterUnknown: 'wait',
});
const REQUEST: DeliverRequest = {
  source: 63,
  parcels: [
    { stamp: 2 ** 52, followUps: [{ queue: 'other', item: whole }, plain('one', 10)] },
    { stamp: 2 ** 52 + 64, followUps: [plain('two', 0)], principal: 'ada' },
  ],
};

/** Of whichever class bytes are. */
function asBytes({ source, parcels }: DeliverRequest) {
  const followUps = parcels.flatMap(({ stamp, followUps: some, principal }) =>
    some.map(({ queue, item }) => ({
      stamp,
      principal,
      queue,
      ...item,
      payload: Buffer.from(bytesOfPayload(item.payload)).toString('hex'),
    })),
  );
  return { source, followUps };
}

describe('S526: parcels between sidecars', () => {
  for (const size of [0, 1_000_000])
    it(`of ${size} bytes and a little more come as they were sent, and their answer too`, () => {
      const got: DeliverRequest[] = [];
      const answer = { upTo: 2 ** 52 + 64, isElsewhere: size > 0 };
      const { ask } = scene((request, reply: Reply<DeliverAnswer>) => {
        got.push(request);
        reply.answer(answer);
      });
      const request = {
        ...REQUEST,
        parcels: [...REQUEST.parcels, { stamp: 2 ** 53 - 1, followUps: [plain('l', size)] }],
      };
      assert.deepEqual(ask(request).value, answer);
      assert.deepEqual(got.map(asBytes), [asBytes(request)]);
    });

  it('S571: are taken by a sidecar whose limits for clients are smaller than where they were accepted', () => {
    const limits = {
      queueNameBytes: 1,
      keyBytes: 1,
      idBytes: 64,
      payloadBytes: 1,
      headers: 0,
      headerBytes: 0,
      itemsPerSubmit: 1,
      after: 0,
      maxDelay: 0,
    };
    const got: DeliverRequest[] = [];
    const { ask } = scene(
      (request, reply: Reply<DeliverAnswer>) => {
        got.push(request);
        reply.answer({ upTo: 1, isElsewhere: false });
      },
      { limits },
    );
    const named = { queue: 'q', item: newItem({ itemId: 'i'.repeat(256), idempotencyKey: 'k'.repeat(512) }) };
    const request = { ...REQUEST, parcels: [...REQUEST.parcels, { stamp: 2 ** 53 - 1, followUps: [named] }] };
    assert.deepEqual(ask(request).value, { upTo: 1, isElsewhere: false });
    assert.deepEqual(got.map(asBytes), [asBytes(request)]);
  });

  it('are refused as they were, also later, and where nobody takes any', () => {
    let waits: Reply<DeliverAnswer> | undefined;
    const { ask, stage } = scene((_, reply) => {
      waits = reply;
    });
    const call = ask(REQUEST);
    waits?.refuse({ kind: 'draining', retryAfter: 5 });
    stage.settle();
    assert.deepEqual(call.refusal, { kind: 'draining', retryAfter: 5 });
    assert.equal(scene(undefined).ask(REQUEST).refusal.kind, 'no_home');
  });

  it('that were lost with their link are as good as not sent', () => {
    const { ask, stage } = scene(() => undefined);
    const call = ask(REQUEST);
    stage.broken(1_500);
    stage.advance(2_000);
    assert.equal(call.refusal.kind, 'no_home');
  });
});
