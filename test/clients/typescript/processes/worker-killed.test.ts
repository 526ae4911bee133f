/** A worker that is killed with turns in its hands, as a process, by SIGKILL: nothing of it says goodbye. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../cli/keyturn-process.js';
import { localCoordinator } from '../../../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../../../support/sidecar.js';
import { overlaps } from './handlers.js';
import type { Event } from './plan.js';
import { Troupe } from './troupe.js';

const HOUR = 3_600_000;

type Begin = Extract<Event, { what: 'begin' }>;

function begins(worker: string, key: string): (event: Event) => event is Begin {
  return (event): event is Begin => event.what === 'begin' && event.worker === worker && event.key === key;
}

async function waiting(sidecar: Sidecar, queue: string): Promise<number> {
  return (await sidecar.client.admin.listQueues()).queues.find(({ name }) => name === queue)?.waiting ?? 0;
}

const KEYS = ['a', 'b', 'c', 'd', 'e'];

// The cases have queues of their own: they share a sidecar, and run at once.
test('a worker that is killed', { timeout: 240_000, concurrency: true }, async (t) => {
  // The lease is long: whoever waits for its end waits in vain.
  const coordinator = localCoordinator(t, { policy: { lease: HOUR, waitingPerKey: 'unlimited' } });
  const sidecar = await startSidecar(t, coordinator);
  await Promise.all([
    t.test('holds its turns for the ttl of its session, not for their leases; then the next has them', (t) =>
      holdsForItsTtl(t, sidecar),
    ),
    t.test('and comes back with its session id has its turns back; what it does not want goes on at once', (t) =>
      comesBack(t, sidecar),
    ),
    t.test('loses no item, and what others acked is not done again', (t) => losesNoItem(t, sidecar)),
  ]);
});

async function holdsForItsTtl(t: TestContext, sidecar: Sidecar): Promise<void> {
  const troupe = new Troupe(t);
  const { address } = sidecar;
  const play = { name: 'hold', queue: 'dies', keys: KEYS } as const;
  const victim = { address, seed: 1, client: { sessionTtl: 2_000 }, play: { ...play, ticket: 'first' } };
  troupe.start('victim', [victim]);
  for (const key of KEYS) await troupe.sees(`victim has ${key}`, begins('victim', key));
  troupe.startHere('next', [{ address, seed: 2, play: { ...play, ticket: 'second' } }]);
  await until('all keys are waited for', async () => (await waiting(sidecar, 'dies')) === KEYS.length);
  const killedAt = await troupe.kill('victim');
  for (const key of KEYS) {
    const begun = await troupe.sees(`next has ${key}`, begins('next', key));
    assert.ok(begun.at - killedAt >= 2_000, `${key} after ${begun.at - killedAt} ms`);
  }
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
}

async function comesBack(t: TestContext, sidecar: Sidecar): Promise<void> {
  const troupe = new Troupe(t);
  const { address } = sidecar;
  // So long that nothing ends by it in this test.
  const client = { sessionId: 'mine', sessionTtl: 600_000 };
  const [wanted, unwanted] = [KEYS.slice(0, 3), KEYS.slice(3)];
  const play = { name: 'hold', queue: 'returns', keys: KEYS } as const;
  troupe.start('victim', [{ address, seed: 1, client, play: { ...play, ticket: 'first' } }]);
  const before = new Map<string, Begin>();
  for (const key of KEYS) before.set(key, await troupe.sees(`victim has ${key}`, begins('victim', key)));
  troupe.startHere('next', [{ address, seed: 2, play: { ...play, ticket: 'second' } }]);
  await until('all keys are waited for', async () => (await waiting(sidecar, 'returns')) === KEYS.length);
  await troupe.kill('victim');
  troupe.start('again', [{ address, seed: 1, client, play: { ...play, keys: wanted, ticket: 'first' } }]);
  for (const key of wanted) {
    const { token } = await troupe.sees(`${key} is back`, begins('again', key));
    assert.equal(token, before.get(key)?.token, `${key}: the same turn`);
  }
  for (const key of unwanted) await troupe.sees(`next has ${key}`, begins('next', key));
  const early = (event: Event) => event.what === 'begin' && event.worker === 'next' && wanted.includes(event.key);
  assert.equal(troupe.events.some(early), false);
  assert.deepEqual(await troupe.finish(['again']), []);
  for (const key of wanted) await troupe.sees(`next has ${key} too`, begins('next', key));
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
}

async function losesNoItem(t: TestContext, sidecar: Sidecar): Promise<void> {
  const troupe = new Troupe(t);
  const { address, client } = sidecar;
  const items = Array.from({ length: 120 }, (_, n) => ({ key: `key-${(n * 7) % 15}`, itemId: `item-${n}` }));
  const play = { name: 'items', queue: 'jobs', concurrency: 4 } as const;
  troupe.start('victim', [{ address, seed: 1, client: { sessionTtl: 2_000 }, play: { ...play, work: 600_000 } }]);
  // As many as it can hold come before all others, so that it has them.
  await client.submit({ queue: 'jobs', items: items.slice(0, play.concurrency) });
  const held = () =>
    troupe.events.filter((event): event is Begin => event.what === 'begin' && event.worker === 'victim');
  await troupe.until('the victim has all it can hold', () => held().length === play.concurrency);
  troupe.startHere(
    'others',
    [2, 3].map((seed) => ({ address, seed, play: { ...play, work: 20 } })),
  );
  await client.submit({ queue: 'jobs', items: items.slice(play.concurrency) });
  await troupe.until('the others work', () =>
    troupe.events.some(({ what, worker }) => what === 'end' && worker === 'others'),
  );
  await troupe.kill('victim');
  for (const { itemId } of items) {
    const { state } = await client.awaitItem({ queue: 'jobs', itemId, wait: 60_000 });
    assert.equal(state, 'done', itemId);
  }
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
  const runs = troupe.events.filter((event): event is Begin => event.what === 'begin');
  const twice = new Set(held().map(({ item }) => item));
  for (const { itemId } of items)
    assert.equal(runs.filter(({ item }) => item === itemId).length, twice.has(itemId) ? 2 : 1, itemId);
  for (const key of new Set(items.map((item) => item.key))) {
    const expected = items
      .filter((item) => item.key === key)
      .flatMap(({ itemId }) => (twice.has(itemId) ? [itemId, itemId] : [itemId]));
    const order = runs.filter((run) => run.key === key).sort((a, b) => a.at - b.at);
    assert.deepEqual(
      order.map(({ item }) => item),
      expected,
      `the order of ${key}`,
    );
  }
}
