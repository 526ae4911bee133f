/** Thousands wait for one item, and a crash falls between the batches that tell them that it ended. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Durability, Policy } from '../../../src/coordinator.js';
import { bytes, QUEUE } from '../../support/builders.js';
import { recount } from '../../support/recount.js';
import { atOnce, okay } from '../stage.js';
import { Lives } from './reborn.js';

/** So many are told in a step. */
const TOLD = 1_000;
/** More than two steps of them. */
const MANY = 2_500;
const BATCH = 500;
const OTHER = 'other';
const FIRST = 'first';
const KEYED = { queue: QUEUE, key: undefined };

class World {
  readonly lives: Lives;

  constructor(policy: Partial<Policy> = {}, other: Partial<Policy> = { durable: true }) {
    this.lives = new Lives({ queues: { [QUEUE]: { durable: true, ...policy }, [OTHER]: other } });
  }

  get stage() {
    return this.lives.stage;
  }

  submitFirst(queue = QUEUE, durability: Durability | undefined = undefined): void {
    this.stage.submit('p', [{ itemId: FIRST, key: FIRST, payload: bytes('f') }], queue, 0, durability);
  }

  /** Each in a lane of its own. */
  submitDependants(names = 'd', count = MANY, queue = QUEUE, durability: Durability | undefined = undefined): void {
    for (let at = 0; at < count; at += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, count - at) }, (_, index) => ({
        itemId: `${names}${at + index}`,
        key: `${names}${at + index}`,
        after: [{ queue, itemId: FIRST }],
      }));
      const { results } = this.stage.submit('p', items, QUEUE, 0, durability).value;
      assert.equal(results.length, items.length);
    }
  }

  /** The first one ends, and the first thousand are told. */
  end(how: 'done' | 'dead' = 'done', queue = QUEUE): void {
    const [delivery] = this.stage.acquire('w', { queues: [queue], key: undefined }).value.deliveries;
    assert.equal(delivery?.items[0]?.itemId, FIRST);
    const request = { queue, key: FIRST, token: delivery.turn.token };
    if (how === 'done') this.stage.ack('w', request);
    else this.stage.nack('w', { ...request, kind: 'dead_letter', error: 'no' });
  }

  /** Time passes in which nobody is told, and somebody looks for the first one. */
  forget(): void {
    this.stage.now += 60_000;
    assert.equal(this.stage.awaitItem('p', FIRST, 0).value.state, 'unknown');
  }

  crash(change: Parameters<Lives['restart']>[0] = {}): void {
    this.lives.flush();
    assert.deepEqual(this.lives.restart(change), []);
  }

  waiting(): number {
    return this.stage.queue()?.waitingItems ?? 0;
  }

  /** All that can be handed out when everything has been told; then it is done. */
  take(): number {
    this.stage.pass(10);
    let taken = 0;
    for (;;) {
      const { deliveries } = this.stage.acquire('w', { maxTurns: 1_000 }).value;
      if (deliveries.length === 0) return taken;
      taken += deliveries.length;
      for (const { turn } of deliveries) this.stage.ack('w', { key: turn.key, token: turn.token });
    }
  }

  dead(): number {
    return this.stage.queue()?.deadLetters ?? 0;
  }

  ends(): number {
    return this.lives.disk.rows().filter((row) => row.table === 'items' && row.state === 'ended').length;
  }
}

describe('who was not told before a crash is told after it', () => {
  it('when result_ttl has forgotten the item by then', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.crash({ away: 60_000 });
    assert.equal(world.take(), MANY);
  });

  it('when it is forgotten before the crash', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.lives.flush();
    world.forget();
    world.crash();
    assert.equal(world.take(), MANY);
  });

  it('when max_remembered is smaller after it', () => {
    const world = new World({ maxRemembered: 10 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.crash({ change: { queues: { [QUEUE]: { durable: true, maxRemembered: 1 }, [OTHER]: {} } } });
    assert.equal(world.take(), MANY);
  });

  it('when its queue is not durable any more', () => {
    const world = new World();
    world.submitFirst(OTHER);
    world.submitDependants('d', MANY, OTHER);
    world.end('done', OTHER);
    world.crash({ change: { queues: { [QUEUE]: { durable: true }, [OTHER]: {} } } });
    assert.equal(world.take(), MANY);
  });

  for (const [what, queue, durability] of [
    ['was in memory only', QUEUE, 'memory'],
    ['was of a queue that is not durable', 'fleeting', undefined],
  ] as const) {
    it(`when what it waited for ${what}`, () => {
      const world = new World();
      world.submitFirst(queue, durability);
      world.submitDependants('d', MANY, queue);
      world.end('done', queue);
      world.crash();
      assert.equal(world.take(), MANY);
    });
  }

  it('when it was in memory only, and came again to be kept', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants('d', MANY, QUEUE, 'memory');
    world.end();
    world.forget();
    const itemId = `d${MANY - 1}`;
    world.stage.submit('p', [{ itemId, key: itemId, after: [{ queue: QUEUE, itemId: FIRST }] }]);
    world.crash();
    assert.equal(world.take(), 1);
  });

  it('that it is dead, though a person discards it', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end('dead');
    atOnce(world.stage.core.discardDead({ ...KEYED, itemIds: [FIRST] }, 1_000, () => world.stage.now));
    world.crash({ away: 60_000 });
    world.stage.pass(10);
    assert.deepEqual([world.dead(), world.waiting()], [MANY, 0]);
  });

  it('that it was dead, though a person brings it back', () => {
    const world = new World();
    world.submitFirst();
    world.submitDependants();
    world.end('dead');
    atOnce(world.stage.core.redrive({ ...KEYED, itemIds: [FIRST] }, 1_000, () => world.stage.now));
    world.crash();
    world.stage.pass(10);
    assert.deepEqual([world.dead(), world.waiting()], [MANY, 1]);
  });

  it('and those that came later wait for a later one of its name', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.forget();
    world.stage.submit('p', [
      { itemId: FIRST, key: FIRST },
      { itemId: 'late', key: 'late', after: [{ queue: QUEUE, itemId: FIRST }] },
    ]);
    world.crash();
    world.stage.pass(10);
    assert.equal(world.stage.explain(QUEUE, `d${MANY - 1}`).state, 'READY');
    assert.equal(world.stage.explain(QUEUE, 'late').state, 'DELAY');
    assert.equal(world.take(), MANY + 2);
  });

  it('by rows of a version that kept nothing of it', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.lives.flush();
    const ends = world.lives.disk
      .rows()
      .flatMap((row) => (row.table === 'items' && row.state === 'ended' ? [row] : []));
    assert.equal(ends.length, 1);
    world.lives.disk.apply(
      ends.map(({ table, seq }) => ({ delete: { table, seq } })),
      world.lives.disk.past.lastWrite ?? 0,
    );
    assert.deepEqual(world.lives.restart({ away: 60_000 }), []);
    // It writes what it has seen before it tells anybody: the next crash would find nothing of it.
    world.crash();
    assert.equal(world.take(), MANY);
  });

  it('also when the process crashes after each of the batches', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    for (let i = 0; i < 3; i++) {
      world.crash({ away: 60_000 });
      world.stage.core.tick(world.stage.now, 1);
    }
    assert.equal(world.take(), MANY);
  });

  it('and then nothing of it is kept', () => {
    const world = new World();
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.lives.flush();
    assert.equal(world.ends(), 1);
    world.stage.pass(10);
    world.lives.flush();
    assert.equal(world.ends(), 0);
  });

  it('where all are told at once nothing is written for it', () => {
    const world = new World();
    world.submitFirst();
    world.submitDependants('d', TOLD);
    world.end();
    world.lives.flush();
    assert.equal(world.ends(), 0);
  });

  it('nor for those that are in memory themselves', () => {
    const world = new World();
    world.submitFirst();
    world.submitDependants('d', MANY, QUEUE, 'memory');
    world.end();
    world.lives.flush();
    assert.equal(world.ends(), 0);
  });
});

describe('who waits no more', () => {
  it('for the item that ended before a crash, is not counted among those who wait for the next one of that id', () => {
    const world = new World({ resultTtl: 1_000 });
    world.submitFirst();
    world.submitDependants();
    world.end();
    world.lives.flush();
    world.forget();
    const after = [{ queue: QUEUE, itemId: FIRST }];
    world.stage.submit('p', [{ itemId: 'later', key: 'later', after, afterUnknown: 'wait' }]);
    world.crash();
    recount(world.stage.core.inside, world.stage.now);
    assert.equal(world.take(), MANY);
  });

  it('is not counted any more among those on disk: an end that none of them has to learn of is not kept for them', () => {
    const world = new World();
    const { stage } = world;
    world.submitFirst();
    world.submitDependants('d', 2);
    world.submitDependants('m', 1, QUEUE, 'memory');
    world.lives.flush();
    for (const itemId of ['d0', 'd1']) {
      const chosen = { ...KEYED, itemIds: [itemId] };
      assert.equal(okay(atOnce(stage.core.discardWaiting(chosen, 10, () => stage.now))), 1);
      recount(stage.core.inside, stage.now);
    }
    world.lives.flush();
    world.end();
    world.lives.flush();
    assert.equal(world.ends(), 0);
    assert.equal(world.take(), 1);
  });
});
