/** Items of one queue of which some are on disk and some in memory only: what a restart finds of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Durability, Policy } from '../../../src/coordinator.js';
import { KEY, newItem, QUEUE } from '../../support/builders.js';
import { atOnce, lettersOf, runThrough } from '../stage.js';
import { Lives } from './reborn.js';

const NEW = newItem();
const NO_KEYS = { queue: QUEUE, key: undefined };

function durable(policy: Partial<Policy> = {}): Lives {
  return new Lives({ queues: { [QUEUE]: { durable: true, ...policy } } });
}

/** Submits them one after the other, each with a durability of its own. */
function submit(lives: Lives, items: Readonly<Record<string, Durability>>): void {
  for (const [itemId, durability] of Object.entries(items)) again(lives, itemId, durability);
}

function again(lives: Lives, itemId: string, durability: Durability | undefined = 'on_flush'): void {
  const { results } = lives.stage.submit('p', [{ itemId }], QUEUE, 0, durability).value;
  assert.equal(results[0]?.decision, 'accept');
}

/** All that is ready of the key, in one turn. */
function take(lives: Lives, change: object = {}): { readonly token: number; readonly ids: readonly string[] } {
  const [delivery] = lives.stage.acquire('w', { maxItemsPerTurn: 100, ...change }).value.deliveries;
  assert.ok(delivery !== undefined);
  return { token: delivery.turn.token, ids: delivery.items.map(({ itemId }) => itemId) };
}

function redrive({ stage }: Lives, id: string): void {
  stage.person(
    (now) => atOnce(stage.core.redrive({ ...NO_KEYS, itemIds: [id] }, 1_000, () => now)),
    () => 'redrove',
  );
}

function states(lives: Lives, ...ids: readonly string[]): readonly string[] {
  return ids.map((id) => lives.stage.awaitItem('p', id, 0).value.state);
}

describe('the first `done` of a turn are those that the worker counts, though a crash took items from it', () => {
  const MIXED = { m1: 'memory', s1: 'on_flush', m2: 'memory', s2: 'on_flush', s3: 'on_flush' } as const;
  for (const { done, left } of [
    { done: 0, left: ['s1', 's2', 's3'] },
    { done: 1, left: ['s1', 's2', 's3'] },
    { done: 2, left: ['s2', 's3'] },
    { done: 3, left: ['s2', 's3'] },
    { done: 4, left: ['s3'] },
    { done: 5, left: [] },
  ]) {
    for (const crashes of [1, 2]) {
      it(`done ${done}, after ${crashes === 1 ? 'a crash' : 'two crashes'}`, () => {
        const lives = durable();
        submit(lives, MIXED);
        const { token } = take(lives);
        for (let i = 0; i < crashes; i++) {
          // It has its lease anew, so the turn is written again.
          lives.stage.renew('w', token);
          lives.flush();
          lives.restart();
        }
        lives.stage.nack('w', { token, kind: 'release', done });
        assert.deepEqual(
          states(lives, 's1', 's2', 's3'),
          ['s1', 's2', 's3'].map((id) => (left.includes(id) ? 'waiting' : 'done')),
        );
        if (left.length > 0) assert.deepEqual(take(lives).ids, left);
      });
    }
  }

  it('more than the worker has is refused', () => {
    const lives = durable();
    submit(lives, MIXED);
    const { token } = take(lives);
    lives.flush();
    lives.restart();
    lives.stage.nack('w', { token, kind: 'release', done: 6 });
    assert.deepEqual(lives.stage.told, ['w BAD_REQUEST']);
  });

  it('told once more by its ticket, the worker counts what it is told then', () => {
    const lives = durable();
    submit(lives, { m1: 'memory', s1: 'on_flush', s2: 'on_flush' });
    take(lives, { ticket: 't' });
    lives.flush();
    lives.restart();
    const { token, ids } = take(lives, { ticket: 't' });
    assert.deepEqual(ids, ['s1', 's2']);
    lives.flush();
    lives.restart();
    lives.stage.nack('w', { token, kind: 'release', done: 1 });
    assert.deepEqual(states(lives, 's1', 's2'), ['done', 'waiting']);
  });
});

describe('an item of durability memory that is sent again with more is on disk', () => {
  for (const durability of ['on_flush', 'interval', 'count', undefined] as const) {
    it(`sent with ${durability ?? 'that of the queue'}`, () => {
      const lives = durable();
      submit(lives, { x: 'memory' });
      again(lives, 'x', durability);
      lives.flush();
      lives.restart();
      assert.deepEqual(states(lives, 'x'), ['waiting']);
    });
  }

  it('and its answer waits for that', () => {
    const lives = durable();
    submit(lives, { x: 'memory' });
    lives.flush();
    const reply = { answer: () => true, refuse: () => undefined };
    const item = { ...NEW, itemId: 'x' };
    const { core, now } = lives.stage;
    core.submit({ queue: QUEUE, items: [item], waitForRoom: 0, durability: 'on_flush' }, reply, now);
    assert.equal(core.takeEffect(), undefined);
    assert.ok(core.urgent && core.changes > 0);
    assert.equal(core.takeHeld()?.kind, 'submit');
  });

  it('not when it is sent with memory again', () => {
    const lives = durable();
    submit(lives, { x: 'memory' });
    again(lives, 'x', 'memory');
    lives.flush();
    lives.restart();
    assert.deepEqual(states(lives, 'x'), ['unknown']);
  });

  it('also as a follow-up of an Ack, which its queue accepts as it says', () => {
    const lives = durable();
    submit(lives, { first: 'on_flush' });
    const { token } = take(lives);
    submit(lives, { x: 'memory' });
    lives.stage.ack('w', { token, followUps: [{ queue: QUEUE, item: { ...NEW, itemId: 'x' } }] });
    lives.flush();
    lives.restart();
    assert.deepEqual(states(lives, 'x'), ['waiting']);
  });

  it('while a worker has it: its turn keeps it', () => {
    const lives = durable();
    submit(lives, { x: 'memory', y: 'on_flush' });
    const { token } = take(lives);
    lives.flush();
    again(lives, 'x');
    lives.flush();
    lives.restart();
    lives.stage.nack('w', { token, kind: 'release', done: 1 });
    assert.deepEqual(states(lives, 'x', 'y'), ['done', 'waiting']);
  });

  it('when it is done: that is known after a crash, with its result', () => {
    const lives = durable();
    submit(lives, { x: 'memory' });
    lives.stage.ack('w', { token: take(lives).token, result: new Uint8Array([7]) });
    again(lives, 'x');
    lives.flush();
    lives.restart();
    const { state, result } = lives.stage.awaitItem('p', 'x', 0).value;
    assert.deepEqual([state, [...(result ?? [])]], ['done', [7]]);
    again(lives, 'x');
    assert.deepEqual(lives.stage.acquire('w').value.deliveries, []);
  });

  it('when it is a dead letter, with why', () => {
    const lives = durable();
    submit(lives, { x: 'memory' });
    lives.stage.nack('w', { token: take(lives).token, kind: 'dead_letter', error: 'bad' });
    again(lives, 'x');
    lives.flush();
    lives.restart();
    const request = { queue: QUEUE, key: undefined, pageSize: 10, pageToken: '' };
    const page = lettersOf(lives.stage.core.listDeadLetters(request, 1_000));
    assert.ok(page.ok);
    assert.deepEqual(
      page.value.deadLetters.map(({ item, lastError, cause }) => [item.itemId, lastError, cause]),
      [['x', 'bad', 'refused']],
    );
  });

  it('handed out at most once, and given back because nobody got it: it is kept as it was asked', () => {
    const lives = durable({ delivery: 'at_most_once' });
    submit(lives, { x: 'memory' });
    const { token } = take(lives);
    again(lives, 'x');
    lives.flush();
    lives.stage.core.undeliverable([{ queue: QUEUE, key: KEY, token }], lives.stage.now);
    lives.flush();
    lives.restart();
    assert.deepEqual(states(lives, 'x'), ['waiting']);
  });

  it('in its place in the line, wherever those before and behind it came back to', () => {
    const lives = durable();
    submit(lives, { a: 'on_flush', m: 'memory', n: 'memory', b: 'on_flush' });
    const order = ['b', 'n', 'a', 'm'];
    // Each dies, and comes back when those behind it are there.
    lives.stage.nack('w', { token: take(lives).token, kind: 'dead_letter', error: '' });
    for (const id of order.toReversed()) redrive(lives, id);
    submit(lives, { late: 'on_flush' });
    again(lives, 'm');
    again(lives, 'n');
    lives.flush();
    lives.restart();
    assert.deepEqual(take(lives).ids, ['a', 'm', 'n', 'b', 'late']);
  });

  it('and those that came back around one in memory come in the order of submission', () => {
    const lives = durable();
    submit(lives, { a: 'on_flush', b: 'on_flush', c: 'on_flush', d: 'on_flush', m: 'memory', e: 'on_flush' });
    lives.stage.nack('w', { token: take(lives).token, kind: 'dead_letter', error: '' });
    for (const id of 'cbmead') redrive(lives, id);
    lives.flush();
    lives.restart();
    assert.deepEqual(take(lives).ids, ['a', 'b', 'c', 'd', 'e']);
  });

  it('is not lost when one that was never asked for is discarded with the rest in memory', () => {
    const lives = durable();
    submit(lives, { x: 'memory', y: 'memory' });
    again(lives, 'x');
    const scan = lives.stage.core.discardWaiting({ ...NO_KEYS, itemIds: ['y'] }, 10, () => lives.stage.now);
    assert.ok(scan.ok && scan.value !== undefined && runThrough(scan.value).done === 1);
    assert.equal(lives.stage.core.memoryItems, 0);
    lives.flush();
    lives.restart();
    assert.deepEqual(states(lives, 'x', 'y'), ['waiting', 'unknown']);
  });
});
