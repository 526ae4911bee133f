/** S659 to S661: what a principal holds, and that it holds no more than `auth.per_client.memory_bytes`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COSTS, TURN_COST } from '../../../src/core/state/held.js';
import { newItem, type SettingsChange } from '../../support/builders.js';
import { atOnce } from '../stage.js';
import { BYTES, bound, Charged, heldIn, submitAs } from './charged.js';

const LIMIT = 4_000;
const FULL = ['memory_full', BYTES, LIMIT, 1_000] as const;
const ADA = { principal: 'ada' };
const ALL = { queue: 'q', key: undefined, itemIds: [] } as const;

function small(change: SettingsChange = {}): Charged {
  return new Charged({ ...change, perClient: { memoryBytes: LIMIT } });
}

/** Of one item with a payload of this size, as often as it is sent again. */
function sendAndFinish(stage: Charged, itemId: string, size: number) {
  const item = { key: 'k', itemId, payload: payload(size) };
  submitAs(stage, 'ada', [item]);
  stage.ack('w', turn(stage, 'ada'));
  return item;
}

const payload = (size: number) => new Uint8Array(size);

/** As much as she may hold, nearly. */
function full(stage: Charged): void {
  submitAs(stage, 'ada', [{ key: 'big', itemId: 'big', payload: payload(LIMIT - 300) }]);
}

function turn(stage: Charged, principal?: string) {
  const [delivery] = stage.acquire('w', { principal }).value.deliveries;
  assert.ok(delivery !== undefined);
  return { key: delivery.turn.key, token: delivery.turn.token };
}

describe('S660: a Submit that would wait for room', () => {
  it('is refused for all that it would hold meanwhile, also of items that are known', () => {
    const stage = small({ queues: { q: { maxWaiting: 1 } } });
    const known = ['a', 'b'].map((id) => sendAndFinish(stage, id, LIMIT / 2));
    submitAs(stage, 'bob', [{ key: 'first' }]);
    assert.deepEqual(bound(submitAs(stage, 'ada', [{ key: 'new' }, ...known], { waitForRoom: 60_000 })), FULL);
    assert.deepEqual(stage.held('ada'), [0, 0]);
    assert.equal(submitAs(stage, 'ada', [{ key: 'new' }, ...known.slice(1)], { waitForRoom: 60_000 }).open, true);
  });
});

describe('S659: what is charged to a principal', () => {
  it('an item with its key from its Submit to its end, also while another principal works on it', () => {
    const stage = new Charged();
    submitAs(stage, 'ada', [{ key: 'key', itemId: 'one', payload: payload(1_000) }]);
    const weight = 256 + 1_000 + 'one'.length + 'key'.length;
    assert.deepEqual(stage.held('ada'), [0, weight]);
    const { key, token } = turn(stage, 'bob');
    assert.deepEqual(stage.held('ada'), [0, weight]);
    assert.deepEqual(stage.held('bob'), [1, TURN_COST + 'key'.length + 'w'.length]);
    stage.nack('w', { key, token, error: 'why not' });
    // The worker writes the error, perhaps for another principal.
    assert.deepEqual(stage.held('ada'), [0, weight]);
    assert.deepEqual(stage.held('bob'), [0, 0]);
    stage.pass(60_000);
    stage.ack('w', turn(stage, 'bob'));
    assert.equal(stage.principals, 0);
  });

  it('a dead letter until it is discarded, and an item that was redriven', () => {
    const stage = new Charged();
    submitAs(stage, 'ada', [{ key: 'key', itemId: 'one' }]);
    const [, weight] = stage.held('ada');
    stage.nack('w', { ...turn(stage), kind: 'dead_letter', error: 'no' });
    assert.deepEqual(stage.held('ada'), [0, weight + COSTS.letter + 'key'.length]);
    atOnce(stage.core.redrive(ALL, 1_000, () => stage.now));
    stage.carry();
    assert.deepEqual(stage.held('ada'), [0, weight]);
    stage.nack('w', { ...turn(stage), kind: 'dead_letter' });
    atOnce(stage.core.discardDead(ALL, 1_000, () => stage.now));
    stage.carry();
    assert.equal(stage.principals, 0);
  });

  it('calls that wait, with what they hold', () => {
    const stage = new Charged({ queues: { q: { maxWaiting: 1 } } });
    submitAs(stage, 'bob', [{ key: 'k' }]);
    const room = submitAs(stage, 'ada', [{ key: 'key', payload: payload(100) }], { waitForRoom: 60_000 });
    assert.deepEqual(stage.held('ada'), [0, COSTS.room + 256 + 100 + 'key'.length]);
    room.cancel();
    stage.carry();
    assert.equal(stage.principals, 1);
    const acquire = stage.acquire('worker', { queues: ['other'], wait: 60_000, ticket: 't', ...ADA });
    assert.deepEqual(stage.held('ada'), [0, COSTS.acquire + COSTS.acquireQueue + 'other'.length + 'worker'.length + 1]);
    acquire.cancel(true);
    assert.equal(stage.principals, 1);
    stage.enQueue('h', { queue: 'other', key: 'k', principal: 'bob' });
    const caller = stage.enQueue('worker', { queue: 'other', key: 'k', wait: 60_000, idempotencyKey: 'i', ...ADA });
    assert.deepEqual(stage.held('ada'), [0, COSTS.caller + 'k'.length + 'worker'.length + 1]);
    caller.cancel();
    assert.deepEqual(stage.held('ada'), [0, 0]);
    stage.enQueue('short', { queue: 'other', key: 'k', wait: 0, ticket: 't', ...ADA });
    assert.deepEqual(stage.held('ada'), [0, COSTS.caller + 'k'.length + 'short'.length]);
    stage.enQueue('not so short', { queue: 'other', key: 'k', wait: 0, ticket: 't', ...ADA });
    assert.deepEqual(stage.held('ada'), [0, COSTS.caller + 'k'.length + 'not so short'.length]);
  });

  it('at_most_once: an item is charged as long as it is in its turn, also when it comes back', () => {
    const stage = new Charged({ queues: { q: { delivery: 'at_most_once' } } });
    submitAs(stage, 'ada', [{ key: 'key', itemId: 'one' }]);
    const before = stage.held('ada');
    const { key, token } = turn(stage);
    assert.deepEqual(stage.held('ada'), before);
    stage.core.undeliverable([{ queue: 'q', key, token }], stage.now);
    stage.carry();
    assert.deepEqual(stage.held('ada'), before);
    stage.ack('w', turn(stage));
    assert.equal(stage.principals, 0);
  });

  it('follow-ups are charged to who acknowledged', () => {
    const stage = new Charged();
    submitAs(stage, 'ada', [{ key: 'key' }]);
    const item = newItem({ key: 'next', itemId: 'two' });
    stage.ack('w', { ...turn(stage), followUps: [{ queue: 'q', item }], principal: 'bob' });
    assert.deepEqual(stage.held('ada'), [0, 0]);
    assert.deepEqual(stage.held('bob'), [0, 256 + 'two'.length + 'next'.length]);
  });

  it('an item that takes the place of another one, of another principal', () => {
    const stage = new Charged({ queues: { q: { waitingPerKey: 1, whenFull: 'replace' } } });
    submitAs(stage, 'ada', [{ key: 'key', itemId: 'one' }]);
    submitAs(stage, 'bob', [{ key: 'key', itemId: 'two' }]);
    assert.deepEqual(stage.held('ada'), [0, 0]);
    assert.deepEqual(stage.held('bob'), [0, 256 + 'two'.length + 'key'.length]);
  });

  it('a principal of another name is another one: what it held before stays charged to the old name', () => {
    const stage = small();
    full(stage);
    assert.deepEqual(bound(submitAs(stage, 'ada', [{ payload: payload(100) }])), FULL);
    submitAs(stage, 'ada-2', [{ payload: payload(100) }]).value;
    stage.ack('w', turn(stage));
    assert.deepEqual(stage.held('ada'), [0, 0]);
  });

  it('without a principal nothing is counted', () => {
    const stage = small();
    submitAs(stage, undefined, [{ payload: payload(10 * LIMIT) }]).value;
    stage.ack('w', turn(stage));
    assert.equal(stage.principals, 0);
  });
});

describe('S660: what brings work beyond the bound is refused', () => {
  it('Submit, at once though it would wait for room; one that brings nothing new is not', () => {
    const stage = small();
    full(stage);
    for (const waitForRoom of [0, 60_000])
      assert.deepEqual(bound(submitAs(stage, 'ada', [{ key: 'more' }], { waitForRoom })), FULL);
    submitAs(stage, 'ada', [{ key: 'big', itemId: 'big', payload: payload(LIMIT - 300) }]).value;
    submitAs(stage, 'bob', [{ key: 'more' }]).value;
    stage.ack('w', turn(stage));
    submitAs(stage, 'ada', [{ key: 'more' }]).value;
  });

  it('a batch that alone is larger can never be accepted', () => {
    const { refusal } = submitAs(small(), 'ada', [{ payload: payload(LIMIT) }]);
    assert.ok(refusal.kind === 'bad_request');
    assert.match(refusal.violations[0]?.description ?? '', /auth\.per_client\.memory_bytes is 4000/);
  });

  it('EnQueue and Acquire with a key, whether they get the turn or wait for it', () => {
    const stage = small();
    full(stage);
    stage.enQueue('h', { key: 'held', principal: 'bob' });
    for (const key of ['free', 'held']) {
      assert.deepEqual(bound(stage.enQueue('c', { key, wait: 60_000, ...ADA })), FULL);
      assert.deepEqual(bound(stage.acquire('c', { key, wait: 60_000, ...ADA })), FULL);
    }
  });

  it('but nothing that takes work out, ends it or keeps it', () => {
    const stage = small();
    full(stage);
    stage.acquire('w', { queues: ['none'], wait: 1, ...ADA });
    stage.pass(1);
    const { key, token } = turn(stage, 'ada');
    assert.ok(stage.held('ada')[1] > LIMIT);
    assert.ok(stage.renew('w', token, 'q', key).value.results[0]?.alive);
    stage.nack('w', { key, token, kind: 'release', error: 'x' });
    const again = turn(stage, 'ada');
    const followUps = [{ queue: 'q', item: newItem({ key: 'next', payload: payload(LIMIT) }) }];
    stage.ack('w', { ...again, followUps, ...ADA }).value;
    assert.deepEqual(bound(submitAs(stage, 'ada', [{ key: 'more' }])), FULL);
    stage.ack('w', { ...turn(stage, 'ada'), ...ADA }).value;
    assert.deepEqual(heldIn(stage, 'ada'), [0, 0]);
  });
});
