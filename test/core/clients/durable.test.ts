/** S662, S663: the charge outlives restarts and moves of a partition, and goes with follow-ups to other partitions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliverAnswer, FollowUp, Parcel } from '../../../src/coordinator.js';
import { SharedUse } from '../../../src/core/core.js';
import { TURN_COST } from '../../../src/core/state/held.js';
import { newItem, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { recountShared } from '../../support/recount-shared.js';
import { Lives } from '../durable/reborn.js';
import { atOnce, type Stage } from '../stage.js';
import { BYTES, bound, heldIn, submitAs, TURNS } from './charged.js';

const ADA = { principal: 'ada' };
const LIMIT = 4_000;
const DURABLE: SettingsChange = {
  queues: { q: { durable: true, lease: 60_000 } },
  perClient: { turns: 3, memoryBytes: LIMIT },
};

function turn(stage: Stage, principal?: string) {
  const [delivery] = stage.acquire('w', { principal }).value.deliveries;
  assert.ok(delivery !== undefined);
  return { key: delivery.turn.key, token: delivery.turn.token };
}

/** A turn of a caller, one with an item, an item that waits, a dead letter. */
function fill(stage: Stage): void {
  submitAs(stage, 'ada', [{ key: 'dead', itemId: 'dead', payload: new Uint8Array(700) }]);
  stage.nack('w', { ...turn(stage), kind: 'dead_letter', error: 'no' });
  submitAs(stage, 'ada', [{ key: 'held' }]);
  turn(stage, 'ada');
  submitAs(stage, 'ada', [{ key: 'waits' }]);
  stage.enQueue('c', { key: 'caller', ...ADA });
}

describe('S662: after a restart, or at another home, the charge is the same', () => {
  for (const keepsContents of [true, false])
    it(`of items, dead letters and turns${keepsContents ? '' : '; what is on disk alone weighs nothing, as ever'}`, () => {
      const lives = new Lives(DURABLE, keepsContents);
      fill(lives.stage);
      lives.flush();
      const before = heldIn(lives.stage, 'ada');
      assert.equal(before[0], 2);
      lives.restart();
      recount(lives.stage.core.inside, lives.stage.now);
      assert.deepEqual(heldIn(lives.stage, 'ada'), before);
      lives.stage.enQueue('c', { key: 'third', ...ADA }).value;
      assert.deepEqual(bound(lives.stage.enQueue('c', { key: 'fourth', ...ADA })), ['limit', TURNS, 3, 1_000]);
      const full = submitAs(lives.stage, 'ada', [{ payload: new Uint8Array(LIMIT - 300) }]);
      assert.deepEqual(bound(full), ['memory_full', BYTES, LIMIT, 1_000]);
      lives.stage.pass(600_000);
      recount(lives.stage.core.inside, lives.stage.now);
      assert.equal(heldIn(lives.stage, 'ada')[0], 0, 'the turns are over');
    });

  it('rows of a version that knew no principals are charged to nobody', () => {
    const lives = new Lives({ queues: { q: { durable: true } } }, true);
    submitAs(lives.stage, undefined, [{ key: 'a' }, { key: 'b' }]);
    turn(lives.stage);
    lives.flush();
    for (const row of lives.disk.rows()) assert.ok(!('principal' in row), JSON.stringify(row));
    lives.restart({ change: DURABLE });
    assert.deepEqual([...lives.stage.core.inside.accounts.all()], []);
  });

  it('a core that is dropped leaves nothing in the sums of its process', () => {
    const shared = new SharedUse();
    const lives = new Lives(DURABLE, true);
    fill(lives.stage);
    const { core } = lives.stage;
    core.join(shared, () => undefined);
    recountShared(shared, [{ core }]);
    core.leave(shared);
    recountShared(shared, []);
    recount(core.inside, lives.stage.now);
  });
});

const SOURCE = 1;
const TARGET = 2;
const HERE: SettingsChange = { queues: { q: { durable: true } }, perClient: { turns: undefined, memoryBytes: 2_000 } };
const THERE: SettingsChange = {
  queues: { other: { durable: true } },
  autoCreate: false,
  perClient: { turns: undefined, memoryBytes: 500 },
};

describe('S663: follow-ups to another partition', () => {
  function scene() {
    const source = new Lives(HERE, true, { number: SOURCE, of: 4 });
    const target = new Lives(THERE, true, { number: TARGET, of: 4 });
    for (const lives of [source, target]) lives.flush();
    const ack = (...queues: readonly string[]) => {
      submitAs(source.stage, undefined, [{ key: 'k' }]);
      const item = newItem({ key: 'next', itemId: 'id', payload: new Uint8Array(600) });
      const followUps: readonly FollowUp[] = queues.map((queue) => ({ queue, item, target: TARGET }));
      return source.stage.ack('a', { ...turn(source.stage), followUps, ...ADA }).value;
    };
    const deliver = () => {
      const call = new Call<DeliverAnswer>();
      const parcels: readonly Parcel[] = source.stage.core.parcelsFor(TARGET);
      target.stage.core.deliver({ source: SOURCE, parcels }, call, target.stage.now);
      target.stage.carry();
      recount(target.stage.core.inside, target.stage.now);
      return call;
    };
    return { source, target, ack, deliver };
  }
  const weight = 256 + 600 + 'id'.length + 'next'.length;

  it('are charged to who acknowledged: on their way, after a restart, and where they arrive, also beyond the bound', () => {
    const { source, target, ack, deliver } = scene();
    ack('other');
    assert.deepEqual(heldIn(source.stage, 'ada'), [0, weight + TURN_COST]);
    source.flush();
    source.restart();
    assert.deepEqual(heldIn(source.stage, 'ada'), [0, weight + TURN_COST]);
    const { upTo } = deliver().value;
    assert.deepEqual(heldIn(target.stage, 'ada'), [0, weight], 'more than its bound there: it was acknowledged');
    source.stage.core.delivered(TARGET, upTo, source.stage.now);
    recount(source.stage.core.inside, source.stage.now);
    assert.deepEqual(heldIn(source.stage, 'ada'), [0, 0]);
    const more = submitAs(target.stage, 'ada', [{ key: 'm' }], { queue: 'other' });
    assert.deepEqual(bound(more), ['memory_full', BYTES, 500, 1_000]);
  });

  /** The queue "none" is not there: the other partition says so. */
  function notTaken(source: ReturnType<typeof scene>['source'], deliver: ReturnType<typeof scene>['deliver']) {
    source.flush();
    assert.equal(deliver().refusal.kind, 'no_such_queue');
    const { stage } = source;
    const [parcel] = stage.core.parcelsFor(TARGET);
    assert.ok(stage.core.notTaken(TARGET, parcel?.stamp ?? 0, 'none', stage.now));
    recount(stage.core.inside, stage.now);
    return stage;
  }

  it('stay charged where some of a parcel are not taken, and where it goes elsewhere', () => {
    const { source, ack, deliver } = scene();
    ack('none', 'other');
    const stage = notTaken(source, deliver);
    const [, bytes] = heldIn(stage, 'ada');
    assert.ok(bytes > 2 * weight && bytes < 3 * weight + 1_000);
    assert.ok(stage.core.sendElsewhere(TARGET, () => 3, stage.now));
    recount(stage.core.inside, stage.now);
    assert.deepEqual(heldIn(stage, 'ada'), [0, bytes]);
    source.flush();
    assert.deepEqual(
      stage.core.parcelsFor(3).map(({ principal }) => principal),
      ['ada'],
    );
  });

  it('stay charged as dead letters of a queue that is not there, and when they are sent again', () => {
    const { source, ack, deliver } = scene();
    ack('none');
    const stage = notTaken(source, deliver);
    assert.ok(heldIn(stage, 'ada')[1] > weight);
    atOnce(stage.core.redrive({ queue: 'q', key: undefined, itemIds: [] }, 1_000, () => stage.now));
    recount(stage.core.inside, stage.now);
    assert.deepEqual(heldIn(stage, 'ada')[0], 0);
    assert.ok(heldIn(stage, 'ada')[1] > weight);
    source.flush();
    assert.deepEqual(
      stage.core.parcelsFor(TARGET).map(({ principal }) => principal),
      ['ada'],
    );
  });
});
