/** What the mixed test does is decided by its seed, and has what the ledger is judged by. */
import { deepStrictEqual, notDeepStrictEqual, strictEqual } from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DURABLE_QUEUE, MEMORY_QUEUE, makePlan, type Plan, type Wanted } from './plan.js';
import { acksIn } from './run.js';

/** 30 lines of 5 clients and 3 paths. */
function wanted(t: TestContext, seed: number): Wanted {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-plan-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const traffic = join(folder, 'traffic.tsv');
  const lines = Array.from({ length: 30 }, (_, index) => `client-${index % 5}\t/page-${index % 3}`);
  writeFileSync(traffic, ['client\tpath', ...lines, ''].join('\n'));
  return { seed, items: 500, turns: 40, kills: 6, languages: ['go', 'java', 'python'], traffic };
}

function batchesOf({ before, during }: Plan) {
  return [before, during].flatMap(({ batches }) => [...batches]);
}

test('the same seed makes the same plan, another one another', async (t) => {
  const [once, again, other] = [
    await makePlan(wanted(t, 7)),
    await makePlan(wanted(t, 7)),
    await makePlan(wanted(t, 8)),
  ];
  deepStrictEqual({ ...again, traffic: '' }, { ...once, traffic: '' });
  notDeepStrictEqual(other.kills, once.kills);
});

test('every item is submitted once, those of a key by one language and in their order', async (t) => {
  const plan = await makePlan(wanted(t, 7));
  for (const [queue, keys] of plan.submitted) {
    for (const [key, ids] of keys) {
      const by = batchesOf(plan).map(([language, batches]) => ({
        language,
        ids: batches
          .filter((batch) => batch.queue === queue)
          .flatMap(({ items }) => items)
          .filter((item) => item.key === key)
          .map(({ itemId }) => itemId),
      }));
      deepStrictEqual(
        by.flatMap((one) => one.ids),
        ids,
        key,
      );
      strictEqual(new Set(by.filter((one) => one.ids.length > 0).map(({ language }) => language)).size, 1, key);
    }
  }
  const count = batchesOf(plan).flatMap(([, batches]) => batches.flatMap(({ items }) => items)).length;
  strictEqual(count, 500);
});

test('nothing of the queue in memory comes while the sidecar is killed, and much of the durable one does', async (t) => {
  const { during, crashAfterTurns } = await makePlan(wanted(t, 7));
  const queues = [...during.batches.values()].flat().map(({ queue }) => queue);
  strictEqual(queues.includes(MEMORY_QUEUE), false);
  strictEqual(queues.includes(DURABLE_QUEUE), true);
  strictEqual(crashAfterTurns > 0, true);
});

test('every language is killed as often as the others, one after the other', async (t) => {
  const { kills } = await makePlan(wanted(t, 7));
  deepStrictEqual(kills.map(({ language }) => language).sort(), ['go', 'go', 'java', 'java', 'python', 'python']);
  const when = kills.map(({ afterTurns }) => afterTurns);
  deepStrictEqual(
    when,
    when.toSorted((a, b) => a - b),
  );
});

test('the count of Acks is that of the queue, and there is none where it is not told', () => {
  const metrics = [
    '# TYPE keyturn_settlements_total counter',
    'keyturn_settlements_total{queue="other",how="ack"} 3',
    'keyturn_settlements_total{queue="mine",how="expired"} 4',
    'keyturn_settlements_total{queue="mine",how="ack"} 5',
    '',
  ].join('\n');
  strictEqual(acksIn(metrics, 'mine'), 5);
  strictEqual(Number.isNaN(acksIn(metrics, 'nobody')), true);
});
