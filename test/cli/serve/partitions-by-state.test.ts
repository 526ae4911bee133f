/** Which partition counts as what, for metrics. */
import { deepStrictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { clusterCounts } from '../../../src/cli/serve/cluster/partitions-by-state.js';
import type { Ownership } from '../../../src/cluster/partitions/ownership.js';
import type { Coordinator } from '../../../src/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';

test('each partition counts once: by what it is here, by its home elsewhere, or as one whose calls nobody takes', async (t) => {
  const elsewhere: Coordinator = new LocalCoordinator(settings());
  t.after(() => elsewhere.close());
  const standing: readonly Ownership['at'][] = ['open', 'loading', 'free', 'free', 'free', 'closed'];
  const homes = {
    partitions: standing.length,
    home: (partition: number) => (partition === 4 ? undefined : elsewhere),
    standing: (partition: number) => standing[partition] ?? 'free',
    onChange: () => () => undefined,
    look: () => undefined,
    whyNone: () => 'nobody',
    isHere: (partition: number) => standing[partition] === 'open',
  };
  // 3: there is no link to its home. 5: its own, so what it is itself counts.
  const homeless = new Map([3, 5].map((partition) => [partition, 'no link']));
  const counts = Object.entries(clusterCounts(homes, homeless).partitions).filter(([, count]) => count > 0);
  deepStrictEqual(Object.fromEntries(counts), { open: 1, loading: 1, closed: 1, elsewhere: 1, none: 2 });
});
