/** S535 to S538: what waits for items of other groups, as the core of its own partition has it. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import type { AfterRef, FarEnd, NewItem } from '../../../src/coordinator.js';
import { MOST_FAR } from '../../../src/core/contract/refusals.js';
import type { ItemRow, ProgressRow } from '../../../src/core/contract/rows.js';
import { ByteReader } from '../../../src/local/journal/codec/byte-reader.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { readWholeItem, writeWholeItem } from '../../../src/local/journal/codec/item-codec.js';
import { keyOf, readRow, writeRow } from '../../../src/local/journal/codec/row-codec.js';
import { bytes, QUEUE, type SettingsChange } from '../../support/builders.js';
import { recount } from '../../support/recount.js';
import { okay, runThrough } from '../stage.js';
import { Lives } from './reborn.js';

const HERE: SettingsChange = { queues: { [QUEUE]: { durable: true, lease: 60_000 } } };
const far = (itemId: string, queue = 'other'): AfterRef => ({ queue, itemId, isFar: true });
const near = (itemId: string): AfterRef => ({ queue: QUEUE, itemId });

class Scene {
  readonly lives: Lives;

  constructor(change = HERE) {
    this.lives = new Lives(change, true, { number: 1, of: 4 });
    this.lives.flush();
  }

  get stage() {
    return this.lives.stage;
  }

  submit(...items: readonly (Partial<NewItem> & Pick<NewItem, 'itemId'>)[]) {
    const call = this.stage.submit(
      's',
      items.map((item) => ({ key: item.itemId ?? '', ...item })),
    );
    this.check();
    return call;
  }

  /** What is to be asked for elsewhere, in the order in which it came to be. */
  get asked(): readonly string[] {
    return [...this.stage.core.far].map(({ itemId }) => itemId);
  }

  /** The home of the other group tells it, of the first that is so called. */
  ends(itemId: string, end: FarEnd): void {
    const ref = [...this.stage.core.far].find((one) => one.itemId === itemId);
    assert.ok(ref !== undefined, `${itemId} is asked for`);
    this.stage.core.farEnded(ref, end, this.stage.now);
    this.stage.carry();
    this.check();
  }

  /** Ids of what a worker gets now. */
  take(): readonly string[] {
    const { deliveries } = this.stage.acquire('w', { maxTurns: 10 }).value;
    return deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId));
  }

  restart(): void {
    this.lives.restart();
    this.check();
  }

  get letters() {
    const letters = this.stage.core.inside.queues.get(QUEUE)?.deadLetters ?? new Map();
    return [...letters.values()].map(({ item, cause }) => ({ id: item.id, cause, error: item.lastError }));
  }

  check(): void {
    recount(this.stage.core.inside, this.stage.now);
  }
}

describe('S535: an item that waits for one of another group', () => {
  it('waits as for one of its own, says for which, and tells that it is to be asked for', () => {
    const scene = new Scene();
    const { core, now } = scene.stage;
    const item = { key: 'k', itemId: 'b', after: [far('a')] };
    scene.submit(item);
    assert.deepEqual(scene.asked, ['a']);
    assert.deepEqual(scene.take(), []);
    const { state, why } = scene.stage.explain(QUEUE, 'k');
    assert.deepEqual([state, why], ['DELAY', 'the item at the head waits for others to be done: a of queue other']);
    const report = okay(core.getItem(QUEUE, 'b', now));
    assert.deepEqual(report.after, { first: [{ queue: 'other', itemId: 'a' }], count: 1 });
    scene.ends('a', 'done');
    assert.deepEqual([scene.asked, scene.take()], [[], ['b']]);
  });

  it('tells it once for a Submit, without waiting for the disk', () => {
    const scene = new Scene();
    const { core, now } = scene.stage;
    const items = ['b', 'c'].map((itemId) => ({ ...ITEM, key: itemId, itemId, after: [far('a'), far('z')] }));
    const reply = { answer: () => true, refuse: () => assert.fail() };
    core.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, reply, now);
    assert.deepEqual(core.takeEffect(), { kind: 'awaits_far' });
    assert.equal(core.takeEffect(), undefined);
    assert.deepEqual(scene.asked, ['a', 'z', 'a', 'z'], 'each item by itself: the same name may mean two items');
  });

  it('starts when the last of all that it waits for is done, here or there', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'here' });
    scene.submit({ itemId: 'b', after: [far('a'), near('here'), far('z', 'third')] });
    scene.ends('z', 'done');
    assert.deepEqual(scene.take(), ['here']);
    scene.ends('a', 'done');
    assert.deepEqual(scene.take(), []);
    const token = scene.stage.core.inside.queues.get(QUEUE)?.lanes.get('here')?.phase;
    assert.ok(token !== undefined && 'token' in token);
    scene.stage.ack('w', { key: 'here', token: token.token });
    assert.deepEqual(scene.take(), ['b']);
  });

  it('is not concerned by one of that name here, nor by another that waits for the same', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'a' });
    scene.submit({ itemId: 'b', after: [far('a', QUEUE)] }, { itemId: 'c', after: [far('a', QUEUE)] });
    assert.deepEqual(scene.take(), ['a']);
    const phase = scene.stage.core.inside.queues.get(QUEUE)?.lanes.get('a')?.phase;
    assert.ok(phase !== undefined && 'token' in phase);
    scene.stage.ack('w', { key: 'a', token: phase.token });
    scene.check();
    assert.deepEqual(scene.take(), []);
    scene.ends('a', 'done');
    assert.deepEqual(scene.take(), ['b']);
    assert.deepEqual(scene.asked, ['a'], 'the other is asked for still');
  });

  it('that is discarded is not asked for any more, and an answer that comes late changes nothing', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'b', after: [far('a')] });
    const [ref] = scene.stage.core.far;
    const { core, now } = scene.stage;
    assert.ok(ref !== undefined);
    runThrough(okay(core.discardWaiting({ queue: QUEUE, key: undefined, itemIds: ['b'] }, 10, () => now)) ?? none());
    scene.check();
    assert.deepEqual(scene.asked, []);
    // Another of its name comes, and waits for another of that name.
    scene.stage.pass(HERE_TTL);
    scene.submit({ itemId: 'b', after: [far('a')] });
    core.farEnded(ref, 'done', scene.stage.now);
    scene.check();
    assert.deepEqual([scene.asked, scene.take()], [['a'], []]);
  });
});

const HERE_TTL = 600_001;

function* none(): Generator<undefined, undefined> {
  yield undefined;
}

const ITEM = {
  payload: bytes('p'),
  headers: undefined,
  idempotencyKey: undefined,
  delay: 0,
  afterUnknown: 'refuse',
} as const;

describe('S536: an item that cannot be done because of one of another group', () => {
  for (const [end, words] of [
    ['dead', /a of queue other, which had to be done before it, became a dead letter/],
    ['discarded', /was discarded/],
    ['forgotten', /is not known to the home of its queue any more/],
  ] as const)
    it(`becomes a dead letter that says why: ${end}`, () => {
      const scene = new Scene();
      scene.submit({ itemId: 'b', after: [far('a')] }, { itemId: 'c', after: [near('b')] });
      scene.ends('a', end);
      assert.deepEqual(
        scene.letters.map(({ id, cause }) => [id, cause]),
        [
          ['b', 'dependency'],
          ['c', 'dependency'],
        ],
      );
      assert.match(scene.letters[0]?.error ?? '', words);
      scene.lives.flush();
      scene.restart();
      assert.deepEqual([scene.letters.length, scene.asked], [2, []]);
    });

  it('runs all the same where its queue says so', () => {
    const scene = new Scene({ queues: { [QUEUE]: { durable: true, onDependencyDead: 'run' } } });
    scene.submit({ itemId: 'b', after: [far('a')] }, { itemId: 'c', after: [far('z')] });
    scene.ends('a', 'dead');
    scene.ends('z', 'forgotten');
    assert.deepEqual(scene.take(), ['b', 'c']);
  });
});

describe('S537: after a crash', () => {
  it('what was accepted waits and is asked for again; what was not is gone', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'b', after: [far('a'), near('x'), far('z')], afterUnknown: 'wait' });
    scene.lives.flush();
    scene.submit({ itemId: 'lost', after: [far('y')] });
    scene.restart();
    assert.deepEqual(scene.asked, ['a', 'z']);
    assert.deepEqual(scene.take(), []);
    scene.submit({ itemId: 'x' });
    assert.deepEqual(scene.take(), ['x'], 'what it waits for here is waited for here');
  });

  it('an end that was told and not written is asked for again; one that was written is not', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'b', after: [far('a'), far('z')] });
    scene.lives.flush();
    scene.ends('a', 'done');
    scene.restart();
    assert.deepEqual(scene.asked, ['a', 'z']);
    scene.ends('a', 'done');
    scene.lives.flush();
    scene.restart();
    assert.deepEqual(scene.asked, ['z']);
    assert.deepEqual(scene.take(), []);
    scene.ends('z', 'done');
    scene.lives.flush();
    scene.restart();
    assert.deepEqual([scene.asked, scene.take()], [[], ['b']]);
  });

  it('rows say it when they were written as bytes, and those of others are as they were', () => {
    const after = [near('x'), far('a'), near('y')];
    const row: ItemRow = {
      table: 'items',
      seq: 7,
      state: 'open',
      queue: QUEUE,
      key: 'k',
      id: 'b',
      idempotencyKey: 'ik',
      contentHash: 5,
      submittedAt: 1,
      notBefore: 0,
      takesRoom: true,
      after,
      contentBytes: 1,
      content: { payload: Uint8Array.of(9), headers: undefined },
    };
    const written = (one: ItemRow) => {
      const writer = new ByteWriter();
      writer.reset();
      assert.ok(one.content !== undefined);
      writeWholeItem(writer, one, one.content, 3);
      return Buffer.from(writer.end());
    };
    const reader = new ByteReader();
    const value = written(row);
    reader.show({ bytes: value, size: value.length });
    assert.deepEqual({ ...readWholeItem(reader, 7, 3), content: undefined }, { ...row, content: undefined });
    assert.equal(
      written({ ...row, after: [near('x'), { queue: 'other', itemId: 'a' }, near('y')] }).length,
      value.length - 3,
    );
    const common = {
      table: 'progress',
      seq: 7,
      attempts: 1,
      crashes: 0,
      lastError: 'e',
      notBefore: 0,
      takesRoom: false,
    } as const;
    for (const left of [after, [near('x')], [], undefined]) {
      const progress: ProgressRow = {
        ...common,
        rank: 7,
        after: left,
        dependencyFailed: true,
        dead: { cause: 'dependency', at: 1 },
      };
      const writer = new ByteWriter();
      writer.reset();
      writeRow(writer, progress, keyOf(progress));
      const bytesOf = Buffer.from(writer.end());
      reader.show({ bytes: bytesOf, size: bytesOf.length });
      assert.deepEqual(readRow(reader, 'progress', keyOf(progress)), progress);
    }
  });
});

describe('S538: no circle over groups', () => {
  const waitsForUnknown = (scene: Scene) => scene.submit({ itemId: 'x', after: [near('y')], afterUnknown: 'wait' });

  it('what is waited for already does not wait for another group, by itself or by what it waits for', () => {
    const scene = new Scene();
    waitsForUnknown(scene);
    scene.submit({ itemId: 'v', after: [far('z')] });
    for (const after of [[far('z')], [near('v')]]) {
      const refusal = scene.submit({ itemId: 'y', after }).refusal;
      assert.ok(refusal.kind === 'bad_request');
      const [first] = refusal.violations;
      assert.equal(first?.field, 'items[0].after');
      assert.match(first?.description ?? '', /y of queue q is waited for already, by an item that came before it/);
    }
    const batch = scene.submit({ itemId: 'y', after: [near('w')] }, { itemId: 'w', after: [far('z')] });
    assert.equal(batch.refusal.kind, 'bad_request');
    assert.deepEqual(scene.asked, ['z']);
    assert.ok(scene.submit({ itemId: 'y' }).value, 'without it may come');
    assert.deepEqual(scene.take(), ['y']);
  });

  it('what is waited for since it is known may not close one, and waits for whatever it likes', () => {
    const scene = new Scene();
    scene.submit({ itemId: 'v' });
    scene.submit({ itemId: 'x', after: [near('v')] });
    assert.ok(scene.submit({ itemId: 'y', after: [near('x'), far('z')] }).value);
    assert.ok(scene.submit({ itemId: 'w', after: [near('y')] }).value);
  });
});

it('S539: as many as a partition asks for, and no more: the next Submit is refused, and nothing changes', () => {
  const scene = new Scene({ ...HERE, queues: { [QUEUE]: { durable: true, maxWaiting: 100_000 } } });
  const { core, now } = scene.stage;
  const submit = (itemId: string, count: number) => {
    const after = Array.from({ length: count }, (_, at) => far(`a${at}`));
    return scene.stage.submit('s', [{ key: itemId, itemId, after }]);
  };
  for (let at = 0; at < MOST_FAR / 100; at++) submit(`i${at}`, 100);
  assert.equal(core.far.size, MOST_FAR);
  const { refusal } = submit('more', 1);
  assert.ok(refusal.kind === 'limit' && refusal.subject === 'after_other_groups' && refusal.limit === MOST_FAR);
  assert.equal(core.far.size, MOST_FAR);
  assert.ok(scene.submit({ itemId: 'others' }).value, 'what waits for nothing comes in');
  const [first] = core.far;
  assert.ok(first !== undefined);
  core.farEnded(first, 'done', now);
  assert.ok(submit('more', 1).value);
  scene.check();
});
