/** Which partitions have a home again first when a member took many at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LoadOrder } from '../../../src/cluster/member/load-order.js';
import { MembersStage, workerAt } from './stage.js';

const SIZES = [70, 60, 50, 40, 90, 10, 30, 20, 80];

/** Loads that end when the test says so. @returns in which order they began, and what ends the one that is oldest */
function started(order: LoadOrder, sizes: readonly number[]): { readonly begun: number[]; endOne(): Promise<void> } {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  sizes.forEach((rows, partition) => {
    void order.run(partition, rows, () => {
      begun.push(partition);
      return new Promise<void>((end) => ends.push(end));
    });
  });
  return {
    begun,
    async endOne() {
      ends.shift()?.();
      await new Promise(setImmediate);
    },
  };
}

describe('the order in which partitions are loaded', () => {
  it('is at most so many at once, then the smallest, and before them the one that somebody asks for', async () => {
    const order = new LoadOrder(4);
    const { begun, endOne } = started(order, SIZES);
    assert.deepEqual(begun, [0, 1, 2, 3]);
    await endOne();
    assert.deepEqual(begun.slice(4), [5]);
    order.asked(8);
    for (let left = SIZES.length; left > 0; left -= 1) await endOne();
    assert.deepEqual(begun.slice(4), [5, 8, 7, 6, 4]);
    const again = started(order, [1, 1]);
    assert.deepEqual(again.begun, [0, 1]);
  });

  it('goes on after a load that failed', async () => {
    const order = new LoadOrder();
    const failing = () => Promise.reject(new Error('damaged'));
    const loads = SIZES.map((rows, partition) => order.run(partition, rows, failing).catch(() => 'failed'));
    assert.deepEqual(new Set(await Promise.all(loads)), new Set(['failed']));
    assert.equal(await order.run(0, 1, async () => 'loaded'), 'loaded');
  });

  it('S350: what a killed member had has homes again from the smallest to the largest, and first what is asked for', async () => {
    const stage = new MembersStage(64);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    // The first has most.
    for (let partition = 0; partition < 64; partition += 1)
      workerAt(a.member, partition).items(...Array.from({ length: 100 - partition }, (_, item) => `i${item}`));
    await stage.pass(500);
    const b = stage.start('b');
    await stage.pass(4_000);
    a.kill();
    b.store.wire.fault = ({ does }) => (does === 'read' ? { back: 200 } : {});
    const opened: number[] = [];
    await stage.until(() => {
      if (b.member.standing(20) === 'loading') b.member.home(20);
      for (const one of stage.homesOf(b.member)) if (!opened.includes(one)) opened.push(one);
      return stage.hasAll(b.member);
    });
    const together = [0, 16, 32, 48].map((from) => opened.slice(from, from + 16).sort((x, y) => x - y));
    const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
    assert.deepEqual(together, [from(0, 15), [20, ...from(49, 63)], from(33, 48), [...from(16, 19), ...from(21, 32)]]);
  });
});
