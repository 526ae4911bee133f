/**
 * Many seeds of a cluster in which members are stopped, killed and cut off, and the store falls back. To run one again:
 * `KEYTURN_SEED=… node --test dist/test/sim/cluster.test.js`; `KEYTURN_RUNS=…` runs that many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedsOf } from '../support/runs.js';
import { type ClusterOutcome, ClusterSimulation } from './cluster-simulation.js';

/** The sums of fewer say little: not in each world do people come in time. */
const AMOUNT = { usual: 6, fewest: 3 };

async function simulate(seed: number): Promise<ClusterOutcome> {
  const again = `KEYTURN_SEED=${seed} node --test dist/test/sim/cluster.test.js`;
  const outcome = await new ClusterSimulation(seed).run();
  assert.deepEqual(outcome.violations, [], `${outcome.lines.join('\n')}\n${again}`);
  return outcome;
}

/** Enough that one of them has a parcel sent twice. */
const MUTANT_SEEDS = [9_000, 9_001, 9_002];

it('finds out a home that forgets what other partitions brought', async () => {
  const found: string[] = [];
  for (const seed of MUTANT_SEEDS) {
    const { violations } = await new ClusterSimulation(seed, 'forgets inbox').run();
    found.push(...violations);
    if (found.length > 0) break;
  }
  assert.match(found.join('\n'), /submitted twice/);
});

it('finds out a home that lets items start before those of other groups that they wait for', async () => {
  const { violations } = await new ClusterSimulation(9_000, 'ignores after').run();
  assert.match(violations.join('\n'), /starts before/);
});

describe('a cluster whose members die, whose store falls back and whose network lies', () => {
  it('S233, S522, S330, S379, S384, S409, S535, S537: loses nothing that was answered, has no two holders and no two leaders, keeps order, and comes to rest', async (t) => {
    const outcomes: ClusterOutcome[] = [];
    for (const seed of seedsOf(t, 9_000, AMOUNT)) outcomes.push(await simulate(seed));
    const sum = (of: (one: ClusterOutcome) => number) => outcomes.reduce((all, one) => all + of(one), 0);
    const { length } = outcomes;
    t.diagnostic(
      `${length} worlds, ${sum((one) => one.deeds)} deeds, ${sum((one) => one.recounts)} recounts, ${sum((one) => one.calls)} calls, ${sum((one) => one.forwarded)} ` +
        `forwarded, ${sum((one) => one.grants)} grants, ${sum((one) => one.takenOver)} after another home, ` +
        `${sum((one) => one.pinned)} moved by people, ${sum((one) => one.rerouted)} routed anew, ${sum((one) => one.inUse)} in use, ${sum((one) => one.usedAhead)} read ahead, ${sum((one) => one.items)} items, ${sum((one) => one.finished)} finished, ${sum((one) => one.excused)} excused, ` +
        `${sum((one) => one.flows)} follow-ups in other groups, ${sum((one) => one.afters)} that waited for one of another, ${sum((one) => one.terms)} terms, ${sum((one) => one.termsTakenOver)} after another home, ${sum((one) => one.termsHandedOver)} handed over`,
    );
    assert.ok(sum((one) => one.recounts) > 100 * length, 'homes are recounted, and what they use together');
    // A world in which nothing happens would find nothing.
    assert.ok(sum((one) => one.takenOver) > length, 'homes change');
    assert.ok(sum((one) => one.pinned) > length, 'people move partitions');
    assert.ok(sum((one) => one.usedAhead) > length, 'partitions are opened with rows that were read ahead');
    // A queue has to be empty for it: most tries come too early.
    assert.ok(sum((one) => one.rerouted) > length / 2, 'people route queues anew');
    assert.ok(sum((one) => one.inUse) > length, 'people try it while they are in use');
    assert.ok(sum((one) => one.terms) > 20 * length, 'leaders come and go');
    assert.ok(sum((one) => one.termsTakenOver) > length, 'their homes change, too');
    assert.ok(sum((one) => one.termsHandedOver) > 5 * length, 'leaders hand over');
    assert.ok(sum((one) => one.flows) > 50 * length, 'follow-ups arrive in other groups');
    assert.ok(sum((one) => one.afters) > 50 * length, 'items wait for those of other groups');
    assert.ok(sum((one) => one.finished) > 100 * length, 'items are finished');
    assert.ok(sum((one) => one.excused) < 4 * length, 'what is lost with its home is rare');
  });
});
