/** S472: what a tab is told of many events, and how often: held against a reader that adds up. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Feed } from '../../../src/console/feed.js';
import type { CoordinatorEvent } from '../../../src/coordinator.js';
import { Watches } from '../../../src/local/watches.js';

const MOST = 100;
const EVERY_MS = 250;

function event(at: number): CoordinatorEvent {
  const none = undefined;
  return { kind: 'turn', at, queue: 'q', key: 'k', token: none, itemId: none, consumerId: none, detail: none };
}

/** A feed over the real buffer, its messages as they are read, and the clock in the hand of the test. */
async function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const watches = new Watches(() => undefined);
  const feed = new Feed(
    (watcher) => ({ ok: true, value: watches.add(undefined, undefined, watcher) }),
    () => true,
  );
  const messages: { readonly events: readonly CoordinatorEvent[]; readonly missed: number }[] = [];
  assert.equal(feed.begin(), undefined);
  const read = (async () => {
    for await (const told of feed.told()) messages.push(told);
  })();
  let made = 0;
  const settled = async () => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  await settled();
  return {
    messages,
    watches,
    happen: (count: number) => {
      for (let n = 0; n < count; n++) watches.emit(event(made++));
      return settled();
    },
    passes: (ms: number) => {
      t.mock.timers.tick(ms);
      return settled();
    },
    end: async () => {
      feed.end();
      await read;
    },
  };
}

/** Every event that happened, told or missed, in its place: `undefined` for one that was missed. */
function line(messages: Awaited<ReturnType<typeof scene>>['messages']): (number | undefined)[] {
  return messages.flatMap(({ events, missed }) => [...Array(missed).fill(undefined), ...events.map(({ at }) => at)]);
}

describe('what a tab is told', () => {
  for (const count of [1, 99, 100, 101, 1_000, 1_001, 50_000])
    it(`of ${count} events at once: ${Math.min(MOST, count)}, and how many more there were`, async (t) => {
      const { messages, happen, passes, end } = await scene(t);
      await happen(1);
      await passes(EVERY_MS);
      await happen(count);
      await passes(EVERY_MS);
      await passes(EVERY_MS);
      await happen(1);
      await passes(EVERY_MS);
      const told = line(messages);
      assert.equal(told.length, count + 2);
      for (const [place, at] of told.entries()) assert.ok(at === undefined || at === place, `${at} stands at ${place}`);
      assert.equal(told.filter((at) => at !== undefined).length, Math.min(MOST, count) + 2);
      assert.equal(told.at(-1), count + 1);
      await end();
    });

  it('comes at most four times a second, however often something happens', async (t) => {
    const { messages, happen, passes, end } = await scene(t);
    for (let ms = 0; ms < 2_000; ms += 10) {
      await happen(100);
      await passes(10);
    }
    // The first one, which is empty, and the one at the beginning.
    assert.ok(messages.length <= 2 + 8, `${messages.length} messages`);
    assert.ok(messages.every(({ events }) => events.length <= MOST));
    await passes(EVERY_MS);
    await passes(EVERY_MS);
    assert.equal(line(messages).length, 20_000);
    await end();
  });

  it('comes at once when nothing happened before', async (t) => {
    const { messages, happen, end } = await scene(t);
    await happen(1);
    assert.deepEqual(line(messages), [0]);
    await end();
  });

  it('ends at once, in a pause too, and its watch with it', async (t) => {
    const { happen, watches, end } = await scene(t);
    await happen(1);
    await end();
    assert.equal(watches.size, 0);
  });
});
