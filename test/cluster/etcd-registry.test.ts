import { execFile } from 'node:child_process';
import { after, before, describe, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { openEtcdRegistry } from '../../src/cluster/registry/etcd/etcd-registry.js';
import type { Registry } from '../../src/cluster/registry/registry.js';
import { HELD } from '../support/cluster/held-clock.js';
import { ETCD, ETCDCTL, TestEtcd } from '../support/etcd.js';
import { needs, pathOf } from '../support/needed-program.js';
import { ProxiedScene } from './proxied-scene.js';
import { type RegistryPlace, registrySuite } from './registry-suite.js';

const run = promisify(execFile);

describe('with a real etcd', needs([ETCD, ETCDCTL]), () => {
  const cleanups: (() => Promise<void> | void)[] = [];
  let etcd: TestEtcd | undefined;
  before(async () => {
    etcd = await TestEtcd.start({ after: (task) => void cleanups.push(task) });
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  registrySuite('the registry in etcd', async (t) => {
    if (etcd === undefined) throw new Error('the tests of this suite have not begun');
    return placeIn(t, etcd);
  });
});

async function placeIn(t: TestContext, etcd: TestEtcd): Promise<RegistryPlace> {
  const scene = new ProxiedScene<Registry>(t, [etcd.port], (port) => `etcd://127.0.0.1:${port}`);
  const { cluster, clock } = scene;
  const ask = async (...words: readonly string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], ETCDCTL_API: '3' };
    const { stdout } = await run(pathOf(ETCDCTL), [`--endpoints=127.0.0.1:${etcd.port}`, ...words], { env });
    return stdout;
  };
  return {
    open: async () => {
      const registry = await scene.behindProxy((url) => openEtcdRegistry(url, { cluster, clock, deadline: HELD }));
      t.after(() => registry.close());
      return registry;
    },
    // No lease can be made older: those that would have ended meanwhile are ended.
    pass: async (ms) => {
      const all = await ask('get', '--prefix', `${cluster}/members/`, '-w', 'json');
      // Numbers of leases are too large for JSON as JavaScript reads it.
      for (const [, lease = ''] of all.matchAll(/"lease":(\d+)/g)) {
        const id = BigInt(lease).toString(16);
        const [, left = ''] = /remaining\((-?\d+)s\)/.exec(await ask('lease', 'timetolive', id)) ?? [];
        if (Number(left) * 1_000 <= ms) await ask('lease', 'revoke', id);
      }
    },
    empty: async () => void (await ask('del', '--prefix', `${cluster}/`)),
    lose: (registry, what) => scene.lose(registry, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
