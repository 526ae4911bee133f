import type { TestContext } from 'node:test';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { FakeEngine } from '../support/cluster/fake-engine.js';
import { FakeStore } from '../support/cluster/fake-store.js';
import { FakeClock } from '../support/fake-clock.js';
import type { OpenOptions, StorePlace } from './store-place.js';
import { storeSuite } from './store-suite.js';

storeSuite('the store in memory', async (_t: TestContext): Promise<StorePlace> => {
  const clock = new FakeClock();
  const engine = new FakeEngine(clock);
  let members = 0;
  let changes = 0;
  return {
    open: async ({ ring }: OpenOptions = {}) => {
      members += 1;
      const store = engine.open(`member-${members}`);
      if (ring !== undefined) store.ring = ring;
      return store;
    },
    mark: async () => {
      changes = engine.changes;
    },
    fallBack: async () => engine.failOver(engine.changes - changes),
    dropGuard: async (partition) => engine.dropGuard(partition),
    empty: async () => engine.empty(),
    lose: (store, what) => {
      wireOf(store).cut = what;
    },
    outwait: async (promise) => {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      promise.then(over, over);
      while (!isOver) {
        clock.advance(10);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return promise;
    },
  };
});

function wireOf(store: ClusterStore): FakeStore['wire'] {
  if (!(store instanceof FakeStore)) throw new TypeError('a store that is no fake');
  return store.wire;
}
