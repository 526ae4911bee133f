import type { Registry } from '../../src/cluster/registry/registry.js';
import { FakeRegistry, FakeRegistryEngine } from '../support/cluster/fake-registry.js';
import { FakeClock } from '../support/fake-clock.js';
import { registrySuite } from './registry-suite.js';

registrySuite('the registry in memory', async () => {
  const clock = new FakeClock();
  const engine = new FakeRegistryEngine(clock);
  let members = 0;
  return {
    open: async () => {
      members += 1;
      return engine.open(`member-${members}`);
    },
    pass: async (ms) => clock.advance(ms),
    empty: async () => engine.empty(),
    lose: (registry, what) => {
      wireOf(registry).cut = what;
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

function wireOf(registry: Registry): FakeRegistry['wire'] {
  if (!(registry instanceof FakeRegistry)) throw new TypeError('a registry that is no fake');
  return registry.wire;
}
