/** Three servers of ZooKeeper on bad days. A session is over when they say so, and never for another reason. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Member, Registry } from '../../../src/cluster/registry/registry.js';
import { openZooKeeperRegistry } from '../../../src/cluster/registry/zookeeper/zookeeper-registry.js';
import { systemClock } from '../../../src/local/clock.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import { LossyProxy } from '../../support/cluster/lossy-proxy.js';
import { needs } from '../../support/needed-program.js';
import type { Cleanup } from '../../support/redis.js';
import { JAVA, TestZooKeeper, ZOOKEEPER } from '../../support/zookeeper.js';

/** Of the member, ms: long enough for a machine that does much else. */
const TTL = 30_000;
/** Between two renewals, and between two looks, ms. */
const EVERY = 100;
/** Until servers have another leader, ms. */
const LONGEST = 60_000;
/** A leader is stopped for so long, ms. */
const STOPPED = 6_000;

const MEMBER: Member = {
  id: 'a',
  name: 'host-a',
  address: '10.0.0.1:7423',
  grpc: '',
  version: '0.1.0',
  format: 1,
  weight: 1,
  isLeaving: false,
  routes: 1,
};

/** What is waited for is time itself. */
async function passed(ms: number): Promise<void> {
  await once(AbortSignal.timeout(ms), 'abort');
}

async function until<T>(what: string, found: () => Promise<T | undefined>): Promise<T> {
  for (const begun = systemClock.now(); systemClock.now() - begun < LONGEST; await passed(EVERY)) {
    const one = await found();
    if (one !== undefined) return one;
  }
  return assert.fail(`${LONGEST} ms passed before ${what}`);
}

/** Undefined: it is not known. */
async function known<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof JournalError && error.problem === 'io') return undefined;
    throw error;
  }
}

describe('three servers of ZooKeeper', needs([JAVA, ZOOKEEPER]), () => {
  const cleanups: (() => Promise<void> | void)[] = [];
  const forAll: Cleanup = { after: (task) => void cleanups.push(task) };
  let servers: readonly TestZooKeeper[] = [];
  let clusters = 0;

  const ports = () => servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  /** Once all of them serve: one that is about to join a leader that goes waits for it. */
  const leader = () =>
    until('all of them served', async () => {
      const modes = await Promise.all(servers.map((server) => server.mode()));
      return modes.includes(undefined) ? undefined : servers[modes.indexOf('leader')];
    });

  before(async () => {
    servers = await TestZooKeeper.ensemble(forAll, 3);
    await leader();
  });
  after(async () => {
    for (const task of cleanups) await task();
  });

  async function joined(t: TestContext, at = ports()): Promise<Registry> {
    if (at === ports()) clusters += 1;
    const registry = await openZooKeeperRegistry(`zookeeper://${at}`, {
      cluster: `c${clusters}`,
      startDeadline: LONGEST,
    });
    t.after(() => registry.close());
    await until('the member had joined', () => known(registry.join(MEMBER, TTL).then(() => true)));
    return registry;
  }

  /** Until a renewal reached the servers. @returns how long that took, ms */
  async function renewed(registry: Registry): Promise<number> {
    const begun = systemClock.now();
    assert.equal(
      await until('a renewal was answered', () => known(registry.renew(MEMBER, TTL))),
      true,
      'it was never over',
    );
    return Math.round(systemClock.now() - begun);
  }

  /** As it is after a bad day: the member was never away. */
  async function isListed(registry: Registry): Promise<void> {
    const members = await until('members were listed', () => known(registry.members()));
    assert.deepEqual(members, [MEMBER]);
  }

  it('elect another leader when it is killed, and the member stays one', async (t) => {
    const registry = await joined(t);
    const killed = await leader();
    await killed.kill();
    t.diagnostic(`renewed ${await renewed(registry)} ms after the leader was killed`);
    await isListed(registry);
    await killed.start();
    await leader();
    await renewed(registry);
    await isListed(registry);
  });

  it('elect another leader when it is stopped, and the member stays one when it goes on', async (t) => {
    const registry = await joined(t);
    const stopped = await leader();
    const begun = systemClock.now();
    stopped.signal('SIGSTOP');
    t.after(() => stopped.signal('SIGCONT'));
    t.diagnostic(`renewed ${await renewed(registry)} ms after the leader was stopped`);
    while (systemClock.now() - begun < STOPPED) {
      await renewed(registry);
      await passed(EVERY);
    }
    stopped.signal('SIGCONT');
    await until('it followed the new one', async () => ((await stopped.mode()) === 'follower' ? true : undefined));
    await renewed(registry);
    await isListed(registry);
  });

  it('without a majority say nothing, and the member is one again when it is back', async (t) => {
    const registry = await joined(t);
    await leader();
    const [first, second] = servers;
    await Promise.all([first?.kill(), second?.kill()]);
    // The last one may have answered before it noticed.
    await until('nothing was known', async () => ((await known(registry.renew(MEMBER, TTL))) ? undefined : true));
    await assert.rejects(registry.members(), (error) => error instanceof JournalError && error.problem === 'io');
    await Promise.all([first?.start(), second?.start()]);
    t.diagnostic(`renewed ${await renewed(registry)} ms after the others were started`);
    await leader();
    await isListed(registry);
  });

  it('end the session of a member that is not renewed, and of no other one', async (t) => {
    const registry = await joined(t);
    const other = { ...MEMBER, id: 'b' };
    await until('the other one had joined', () => known(registry.join(other, 1_000).then(() => true)));
    await until('it was over', async () => {
      await known(registry.renew(MEMBER, TTL));
      return (await known(registry.members()))?.length === 1 ? true : undefined;
    });
    assert.equal(await until('that was known', () => known(registry.renew(other, 1_000))), false);
    await isListed(registry);
  });

  it('are asked one after the other: a way that is cut is left for another one', async (t) => {
    clusters += 1;
    const proxies = await Promise.all(servers.map(({ port }) => LossyProxy.start(t, port)));
    const registry = await joined(t, proxies.map(({ port }) => `127.0.0.1:${port}`).join(','));
    for (const proxy of proxies) {
      proxy.drop();
      await renewed(registry);
    }
    for (const proxy of proxies) {
      proxy.cut = 'both';
      await renewed(registry);
      await isListed(registry);
      proxy.cut = undefined;
    }
    for (const proxy of proxies.slice(1)) proxy.cut = 'answers';
    await renewed(registry);
    await isListed(registry);
  });
});
