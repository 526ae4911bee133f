/** The row `failover` in a small form: a session of a member has to end for it, which takes seconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasRedis, REDIS } from '../../bench/peers/redis.js';
import { measureFailover } from '../../bench/rows/failover.js';

test('a home is killed and a partition handed over, and both are told; without a Redis it is named', async () => {
  // At once: a machine that is busy for 15 s would have shared the partitions out before.
  const size = { kills: 1, settles: 0, items: 40, queues: 4, moves: 1, before: 0, rows: 100 };
  const [killed, moved] = await measureFailover(size, () => {});
  assert.deepEqual([killed?.part, moved?.part], ['kill -9', 'hand-over']);
  const isHere = await hasRedis();
  assert.ok(isHere || process.env['CI'] !== 'true', 'in continuous integration nothing is missing');
  for (const figure of [killed, moved]) {
    if (isHere) {
      assert.equal(figure?.outcome.is, 'measured');
      const [round] = figure.outcome.is === 'measured' ? figure.outcome.rounds : [];
      assert.ok((round?.value ?? 0) > 0);
    } else assert.deepEqual(figure?.outcome, { is: 'missing', ...REDIS });
  }
  // A member that died is missed when its session is over, not before: 3 s.
  if (killed?.outcome.is === 'measured') assert.ok((killed.outcome.rounds[0]?.value ?? 0) > 2);
});
