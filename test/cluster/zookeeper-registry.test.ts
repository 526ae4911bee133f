import { once } from 'node:events';
import { describe, type TestContext } from 'node:test';
import type { Registry } from '../../src/cluster/registry/registry.js';
import { openZooKeeperRegistry } from '../../src/cluster/registry/zookeeper/zookeeper-registry.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { JAVA, type TestZooKeeper, TICK, ZOOKEEPER } from '../support/zookeeper.js';
import { type RegistryPlace, registrySuite } from './registry-suite.js';
import { sharedZooKeeper, ZooKeeperScene } from './zookeeper-scene.js';

/** Sessions end by the clock of the server, which nobody sets: those that end in a test live for a part of what it says, ms. */
const ENDS = 60_000;
const PART = 20;

describe('with a real ZooKeeper', needs([JAVA, ZOOKEEPER]), () => {
  const server = sharedZooKeeper();
  registrySuite('the registry in ZooKeeper', async (t) => placeIn(t, server()));
});

function placeIn(t: TestContext, server: TestZooKeeper): RegistryPlace {
  const scene = new ZooKeeperScene<Registry>(t, server);
  const { cluster, clock, raw } = scene;
  return {
    open: () =>
      scene.behindProxy(async (url) => {
        const registry = await openZooKeeperRegistry(url, { cluster, clock, deadline: HELD });
        t.after(() => registry.close());
        return shorter(registry);
      }),
    // What is waited for is time itself.
    pass: async (ms) => void (await once(AbortSignal.timeout(ms / PART + 2 * TICK), 'abort')),
    empty: () => raw.removeAll(`/${cluster}`),
    lose: (registry, what) => scene.lose(registry, what),
    outwait: (promise) => scene.outwait(promise),
  };
}

function shorter(registry: Registry): Registry {
  const lives = (ttl: number) => (ttl <= ENDS ? ttl / PART : ttl);
  return {
    name: registry.name,
    join: (member, ttl) => registry.join(member, lives(ttl)),
    renew: (member, ttl) => registry.renew(member, lives(ttl)),
    leave: (id) => registry.leave(id),
    members: () => registry.members(),
    publish: (homes) => registry.publish(homes),
    homes: () => registry.homes(),
    close: () => registry.close(),
  };
}
