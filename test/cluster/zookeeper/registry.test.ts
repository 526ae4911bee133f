/** What the registry in ZooKeeper promises beyond what every registry does. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Member, Registry } from '../../../src/cluster/registry/registry.js';
import { openZooKeeperRegistry } from '../../../src/cluster/registry/zookeeper/zookeeper-registry.js';
import { create, EVERYBODY, getData } from '../../../src/cluster/zookeeper/requests.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import { HELD } from '../../support/cluster/held-clock.js';
import { deferred } from '../../support/deferred.js';
import { needs } from '../../support/needed-program.js';
import { JAVA, TestZooKeeper, ZOOKEEPER } from '../../support/zookeeper.js';
import { RawZooKeeper, sharedZooKeeper, ZooKeeperScene } from '../zookeeper-scene.js';
import { CuttingProxy } from './cutting-proxy.js';

const LONG = 600_000;
const NOTHING = Buffer.alloc(0);
/**
 * Longer than any answer takes, ms. A server that is asked twice to end a session may welcome the second connection while it still ends
 * that session, and then never answers there: only a deadline ends this wait.
 */
const PATIENT = 10_000;

function member(id: string, differences: Partial<Member> = {}): Member {
  const about = { name: id, address: '10.0.0.1:7423', grpc: '', version: '0.1.0', format: 1, weight: 1 };
  return { id, ...about, isLeaving: false, routes: 1, ...differences };
}

/** Until it is known to be done. */
async function again<T>(task: () => Promise<T>): Promise<T> {
  for (let left = 3; ; left -= 1) {
    try {
      return await task();
    } catch (error) {
      if (left === 0 || !(error instanceof JournalError) || error.problem !== 'io') throw error;
    }
  }
}

describe('the registry in ZooKeeper', needs([JAVA, ZOOKEEPER]), () => {
  const server = sharedZooKeeper();

  function sceneOf(t: TestContext): ZooKeeperScene<Registry> {
    return new ZooKeeperScene<Registry>(t, server());
  }

  async function open(
    t: TestContext,
    { clock, cluster }: ZooKeeperScene<Registry>,
    url: string,
    deadline = HELD,
  ): Promise<Registry> {
    // Watches end with the session that reads: on a machine that is busy for longer than its usual time nobody would be told.
    const registry = await openZooKeeperRegistry(url, { cluster, clock, deadline, session: LONG });
    t.after(() => registry.close());
    return registry;
  }

  // What is done is done again until it is known to be done; a member that was over has another id, as in a sidecar.
  async function lives(t: TestContext, scene: ZooKeeperScene<Registry>, port: number): Promise<void> {
    const registry = await again(() => open(t, scene, `zookeeper://127.0.0.1:${port}`, PATIENT));
    const nodes = () => scene.raw.names(`/${scene.cluster}/members`);
    const home = (epoch: number) => ({ partition: 3, epoch, member: 'a', address: 'a:1' });
    await again(() => registry.join(member('a'), LONG));
    assert.equal((await nodes()).length, 1);
    for (const weight of [1, 2, 2])
      assert.equal(await again(() => registry.renew(member('a', { weight }), LONG)), true);
    assert.deepEqual(await again(() => registry.members()), [member('a', { weight: 2 })]);
    await again(() => registry.join(member('a', { weight: 3 }), LONG));
    assert.deepEqual(await again(() => registry.members()), [member('a', { weight: 3 })]);
    for (const epoch of [1, 2]) await again(() => registry.publish([home(epoch)]));
    assert.deepEqual(await again(() => registry.homes()), [home(2)]);
    await again(() => registry.leave('a'));
    assert.deepEqual([await nodes(), await again(() => registry.members())], [[], []]);
    await registry.close();
  }

  for (const how of ['before', 'behind'] as const) {
    it(`does once what is done again, whichever connection is cut ${how} whichever request`, async (t) => {
      for (let at = 1, isCut = true; isCut; at += 1) {
        const scene = sceneOf(t);
        const proxy = await CuttingProxy.start(t, server().port);
        Object.assign(proxy, { at, how });
        await lives(t, scene, proxy.port);
        isCut = proxy.seen >= at;
        assert.ok(at < 200, 'it ends');
      }
    });
  }

  it('tells one that a member has ended: the one that joined next, and of the first the last', async (t) => {
    const scene = sceneOf(t);
    const ids = ['c', 'a', 'd', 'b'];
    const told: string[] = [];
    let onTold = () => {};
    const all = new Map<string, Registry>();
    for (const id of ids) {
      const registry = await open(t, scene, server().url);
      all.set(id, registry);
      registry.onChange = () => {
        told.push(id);
        onTold();
      };
      await registry.join(member(id), LONG);
    }
    const look = () => Promise.all([...all.values()].map((registry) => registry.members()));
    const leaves = async (id: string) => {
      await look();
      // What was asked before it was asked before it leaves.
      await look();
      told.length = 0;
      const some = deferred<void>();
      onTold = some.resolve;
      await all.get(id)?.leave(id);
      await some.promise;
      all.delete(id);
      await look();
      return [...told];
    };
    assert.deepEqual(await leaves('a'), ['d'], 'it joined after a');
    assert.deepEqual(await leaves('b'), ['c'], 'b was the last, and c is the first');
    assert.deepEqual(await leaves('c'), ['d']);
    told.length = 0;
    assert.equal(await all.get('d')?.renew(member('d'), LONG), true);
    await look();
    assert.deepEqual(told, [], 'renewals wake nobody');
  });

  it('tells the one behind that a member says something new, and not that it is renewed', async (t) => {
    const scene = sceneOf(t);
    const [a, b] = [await open(t, scene, server().url), await open(t, scene, server().url)];
    await a.join(member('a'), LONG);
    await b.join(member('b'), LONG);
    let told = 0;
    let onTold = () => {};
    b.onChange = () => {
      told += 1;
      onTold();
    };
    await b.members();
    for (let time = 0; time < 3; time += 1) assert.equal(await a.renew(member('a'), LONG), true);
    await b.members();
    assert.equal(told, 0);
    const some = deferred<void>();
    onTold = some.resolve;
    assert.equal(await a.renew(member('a', { isLeaving: true }), LONG), true);
    await some.promise;
    assert.deepEqual(await b.members(), [member('a', { isLeaving: true }), member('b')]);
  });

  it('stands below a chroot that is there, and asks for one that is not', async (t) => {
    const scene = sceneOf(t);
    const { raw, cluster } = scene;
    const url = `${server().url}/${cluster}-apps/x`;
    await assert.rejects(open(t, scene, url), (error) => {
      assert.ok(error instanceof JournalError && error.problem === 'unfit');
      assert.match(error.message, /has no node \/test-.*-apps\/x \(zkCli\.sh: create \/test-.*-apps\/x\)/);
      return true;
    });
    await raw.ask(create({ path: `/${cluster}-apps`, data: NOTHING, acl: EVERYBODY }));
    await raw.ask(create({ path: `/${cluster}-apps/x`, data: NOTHING, acl: EVERYBODY }));
    const registry = await open(t, scene, url);
    await registry.join(member('a'), LONG);
    assert.deepEqual([...(await raw.names(`/${cluster}-apps/x/${cluster}`))].sort(), ['homes', 'members']);
    assert.equal(registry.name, `zookeeper://127.0.0.1:${server().port}/${cluster}-apps/x`);
  });

  it('with a user is of that user alone, and who is another one is told so, without a password', async (t) => {
    const scene = sceneOf(t);
    const { cluster } = scene;
    const at = (login: string) => `zookeeper://${login}127.0.0.1:${server().port}`;
    const registry = await open(t, scene, at('ada:h%40nter2@'));
    await registry.join(member('a'), LONG);
    await registry.publish([{ partition: 0, epoch: 1, member: 'a', address: 'a:1' }]);
    assert.deepEqual(await (await open(t, scene, at('ada:h%40nter2@'))).members(), [member('a')]);
    for (const login of ['', 'ada:qwerty@', 'bob:h%40nter2@']) {
      await assert.rejects(
        open(t, scene, at(login)).then((other) => other.members()),
        (error) => {
          assert.ok(error instanceof JournalError && error.problem === 'unfit', String(error));
          assert.match(
            error.message,
            /does not let (who does not log in|the user (ada|bob) with this password) do this/,
          );
          assert.doesNotMatch(error.message, /h%40nter2|h@nter2|qwerty/);
          return true;
        },
      );
    }
    const raw = new RawZooKeeper(t, at('ada:h%40nter2@'));
    await raw.removeAll(`/${cluster}/homes`);
  });

  it('refuses a session that the servers would end sooner, and says that they let one live longer', async (t) => {
    const scene = sceneOf(t);
    const begin = async (session: number) => {
      const registry = await openZooKeeperRegistry(server().url, { cluster: scene.cluster, session });
      t.after(() => registry.close());
      return registry;
    };
    await assert.rejects(
      begin(800_000),
      /lets a session live for 700000 ms at most, and cluster\.session is 800000 ms/,
    );
    assert.match(
      (await begin(100)).caution ?? '',
      /lets no session be shorter than 400 ms .* not after cluster\.session, 100 ms/,
    );
    assert.equal((await begin(3_000)).caution, undefined);
    const registry = await open(t, scene, server().url);
    await assert.rejects(registry.join(member('a'), 800_000), /700000 ms at most/);
  });

  it('reads records again only when one was written', async (t) => {
    const scene = sceneOf(t);
    const [a, b] = [await open(t, scene, server().url), await open(t, scene, server().url)];
    const home = { partition: 3, epoch: 5, member: 'a', address: 'a:1' };
    await a.publish([home]);
    const at = `/${scene.cluster}/homes`;
    const versions = async () =>
      Promise.all([at, `${at}/3`].map(async (path) => (await scene.raw.ask(getData(path))).stat.version));
    const before = await versions();
    await a.publish([home]);
    await b.publish([{ ...home, epoch: 4 }]);
    assert.deepEqual(await versions(), before, 'nothing that stands is written again');
    assert.deepEqual(await b.homes(), [home]);
    await a.publish([{ ...home, epoch: 6 }]);
    assert.deepEqual(await b.homes(), [{ ...home, epoch: 6 }]);
    await scene.raw.removeAll(`/${scene.cluster}`);
    assert.deepEqual([await b.homes(), await b.members()], [[], []]);
    await b.publish([home]);
    assert.deepEqual(await a.homes(), [home]);
  });

  it('takes homes that several say at once: of each partition the largest epoch stays', async (t) => {
    const scene = sceneOf(t);
    const all = await Promise.all(Array.from({ length: 4 }, () => open(t, scene, server().url)));
    const partitions = Array.from({ length: 100 }, (_, partition) => partition);
    await Promise.all(
      all.flatMap((registry, number) =>
        [1, 2, 3].map((round) =>
          registry.publish(
            partitions.map((partition) => ({
              partition,
              epoch: round * 10 + number,
              member: `m${number}`,
              address: 'x:1',
            })),
          ),
        ),
      ),
    );
    const [first] = all;
    assert.deepEqual(
      (await first?.homes())?.map(({ partition, epoch, member: by }) => [partition, epoch, by]),
      partitions.map((partition) => [partition, 33, 'm3']),
    );
  });

  it('goes on in a ZooKeeper that was set up anew: sessions are over, and others begin', async (t) => {
    const own = await TestZooKeeper.start(t);
    const registry = await openZooKeeperRegistry(own.url, { cluster: 'c', deadline: 60_000 });
    t.after(() => registry.close());
    for (const id of ['a', 'b', 'c']) await registry.join(member(id), LONG);
    const home = { partition: 0, epoch: 7, member: 'a', address: 'a:1' };
    await registry.publish([home]);
    await own.startAnew();
    assert.equal(await again(() => registry.renew(member('a'), LONG)), false);
    assert.deepEqual([await again(() => registry.members()), await registry.homes()], [[], []]);
    await registry.join(member('d'), LONG);
    await registry.publish([home]);
    assert.deepEqual([await registry.members(), await registry.homes()], [[member('d')], [home]]);
  });

  it('does not take for a member what is none', async (t) => {
    const scene = sceneOf(t);
    const registry = await open(t, scene, server().url);
    const id = 'a/b..%2F-0000000001 ü';
    await registry.join(member(id), LONG);
    for (const name of ['x', 'x-0000000001', 'x%-0000000002', '-0000000003']) {
      const path = `/${scene.cluster}/members/${name}`;
      await scene.raw.ask(create({ path, data: Buffer.from('{}'), acl: EVERYBODY }));
    }
    assert.deepEqual(await registry.members(), [member(id)]);
    assert.equal(await registry.renew(member(id), LONG), true);
    await registry.leave(id);
    assert.deepEqual(await registry.members(), []);
  });
});
