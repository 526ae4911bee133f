/**
 * S412: what was answered outlives the deaths of a home, a gateway, both and Redis, as processes. What is chosen is the same for the
 * same seed; what meets what is the machine's. Longer, and other kinds: `node dist/test/cluster/kills.js 20`.
 */
import assert from 'node:assert/strict';
import { env } from 'node:process';
import { test } from 'node:test';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import { type KillPlan, KillWorld } from './kill-world.js';

const SEED = Number(env['KEYTURN_SEED'] ?? 1);

test(
  'a home, a gateway, both and Redis die: nothing answered is lost, one holder per key, order kept, tokens grow',
  needs([REDIS]),
  async (t) => {
    const kinds = ['store', 'home', 'gateway', 'both'] as const;
    const plan: KillPlan = { seed: SEED, store: 'redis', kinds, mostEvents: 300, say: (what) => t.diagnostic(what) };
    const { violations, tail, rounds, acked, turns } = await KillWorld.run(t, plan);
    assert.deepEqual(violations, [], `seed ${SEED}\n${[...violations.slice(0, 10), '…', ...tail].join('\n')}`);
    assert.equal(rounds, kinds.length);
    assert.ok(acked > 100 && turns > 100, `it does something: ${acked} acked, ${turns} turns`);
  },
);
