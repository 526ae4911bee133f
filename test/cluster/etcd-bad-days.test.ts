/** An etcd of three members on bad days, and a registry whose etcd nobody can use. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { openEtcdRegistry } from '../../src/cluster/registry/etcd/etcd-registry.js';
import type { Member, Registry } from '../../src/cluster/registry/registry.js';
import { KVService, TxnResponse } from '../../src/grpc/gen/etcdserverpb/rpc.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { until } from '../cli/keyturn-process.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { ETCD, ETCDCTL, TestEtcd } from '../support/etcd.js';
import { needs, pathOf } from '../support/needed-program.js';

const run = promisify(execFile);
/** Far longer than these tests take: what is over is over for another reason. */
const LONG = 600_000;
const OPTIONS = { cluster: 'c', deadline: 1_000, startDeadline: 60_000 } as const;

const ME: Member = {
  id: 'me',
  name: 'host',
  address: '10.0.0.1:7423',
  grpc: '',
  version: '0.1.0',
  format: 1,
  weight: 1,
  isLeaving: false,
  routes: 1,
};

function urlOf(ports: readonly number[]): string {
  return `etcd://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
}

async function opened(t: TestContext, ports: readonly number[]): Promise<Registry> {
  const registry = await openEtcdRegistry(urlOf(ports), OPTIONS);
  t.after(() => registry.close());
  return registry;
}

/** As a member does: tried again until it is renewed; a session that is over is never. */
async function renewed(registry: Registry): Promise<void> {
  await until('the session is renewed', async () => {
    const answer = await registry.renew(ME, LONG).catch((error: unknown) => {
      assert.ok(error instanceof JournalError && error.problem === 'io', String(error));
    });
    assert.notEqual(answer, false, 'the session is over');
    return answer === true;
  });
}

async function ctl(ports: readonly number[], ...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], ETCDCTL_API: '3' };
  const endpoints = `--endpoints=${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
  return (await run(pathOf(ETCDCTL), [endpoints, ...words], { env })).stdout;
}

async function leaderOf(all: readonly TestEtcd[]): Promise<TestEtcd> {
  const status = await ctl(
    all.map(({ port }) => port),
    'endpoint',
    'status',
  );
  const leader = all.find(({ port }) => new RegExp(`:${port}, [^,]*, [^,]*, [^,]*, true,`).test(status));
  assert.ok(leader, status);
  return leader;
}

describe('bad days of a real etcd', needs([ETCD, ETCDCTL]), () => {
  it('S495: members die, one after the other; sessions stay, and without a majority it is said that nothing is known', async (t) => {
    const all = await TestEtcd.several(t, 3);
    const ports = all.map(({ port }) => port);
    const registry = await opened(t, ports);
    await registry.join(ME, LONG);
    // The leader is left alone: for an election timeout it does not know that it is alone, and answers what it can answer by itself.
    const third = await leaderOf(all);
    const [first, second] = all.filter((one) => one !== third);
    assert.ok(first && second);
    await first.kill();
    await renewed(registry);
    assert.deepEqual((await registry.members()).length, 1);
    await second.kill();
    await assert.rejects(
      registry.renew(ME, LONG),
      (error: unknown) => error instanceof JournalError && error.problem === 'io',
    );
    await first.start();
    await renewed(registry);
    await second.start();
    await third.kill();
    await renewed(registry);
    assert.deepEqual(await registry.members(), [ME]);
  });

  it('S495: a leader that stands still for 6 s is replaced; a session that is renewed stays, one that is not ends by itself', async (t) => {
    const all = await TestEtcd.several(t, 3);
    const ports = all.map(({ port }) => port);
    const registry = await opened(t, ports);
    await registry.join(ME, LONG);
    const leader = await leaderOf(all);
    leader.signal('SIGSTOP');
    const stopped = performance.now();
    try {
      await renewed(registry);
      await registry.join({ ...ME, id: 'silent' }, 1_000);
      await until('who is silent is over', async () => {
        const members = await registry.members().catch(() => undefined);
        return members?.length === 1 && performance.now() - stopped > 6_000;
      });
      await renewed(registry);
    } finally {
      leader.signal('SIGCONT');
    }
    await renewed(registry);
    assert.deepEqual(await registry.members(), [ME]);
    assert.equal(await registry.renew({ ...ME, id: 'silent' }, 1_000), false);
  });

  it('S498: a renewal for another time whose answer is lost is known again by the next one', async (t) => {
    const etcd = await TestEtcd.start(t);
    const proxy = await LossyProxy.start(t, etcd.port);
    const registry = await opened(t, [proxy.port]);
    await registry.join(ME, LONG);
    // The first answer is that of the lease, the second one of the key.
    let passed = 0;
    t.mock.method(KVService.txn, 'responseDeserialize', (bytes: Buffer) => {
      passed += 1;
      if (passed === 1) throw new Error('the answer is lost');
      return TxnResponse.decode(bytes);
    });
    await assert.rejects(registry.renew(ME, 2 * LONG), JournalError);
    assert.equal(await registry.renew(ME, 2 * LONG), true);
    assert.deepEqual(await registry.members(), [ME]);
  });

  it('S496: an endpoint that is silent is left for the next one', async (t) => {
    const etcd = await TestEtcd.start(t);
    const [one, other] = [await LossyProxy.start(t, etcd.port), await LossyProxy.start(t, etcd.port)];
    const registry = await opened(t, [one.port, other.port]);
    await registry.join(ME, LONG);
    one.cut = 'both';
    await assert.rejects(registry.renew(ME, LONG), /did not answer within 1000 ms/);
    await renewed(registry);
    other.drop();
    other.close();
    one.cut = undefined;
    await renewed(registry);
  });

  it('S497: whoever may not use it is told why, without a password', async (t) => {
    const etcd = await TestEtcd.start(t);
    const people = (...words: readonly string[]) => ctl([etcd.port], ...words);
    const at = (user: string) => `etcd://${user}127.0.0.1:${etcd.port}`;
    const refused = async (url: string, problem: JournalProblem, says: RegExp) => {
      await assert.rejects(openEtcdRegistry(url, { ...OPTIONS, startDeadline: 5_000 }), (error: unknown) => {
        assert.ok(error instanceof JournalError, String(error));
        assert.match(error.message, says);
        assert.equal(error.problem, problem);
        assert.doesNotMatch(error.message, /geheim|falsch/);
        return true;
      });
    };
    await refused(at('root:geheim@'), 'unfit', /knows no users, and one is given/);
    await refused(at(':geheim@'), 'unfit', /is given a password without a user/);
    await refused('etcd://127.0.0.1:1', 'io', /nothing listens there/);
    await refused('etcd://no.such.host.invalid', 'io', /no machine is known by that name/);
    await refused(`etcds://127.0.0.1:${etcd.port}`, 'io', /etcd at .* cannot be reached/);
    await people('user', 'add', 'root:geheim');
    await people('user', 'add', 'keyturn:ge:heim');
    await people('role', 'add', 'keyturn');
    await people('user', 'grant-role', 'keyturn', 'keyturn');
    await people('auth', 'enable');
    await refused(at(''), 'unfit', /wants a user, and none is given/);
    await refused(at('root:falsch@'), 'unfit', /refuses user or password/);
    await refused(at('keyturn:ge%3Aheim@'), 'unfit', /the user keyturn of .* may not use the keys of the cluster/);
    await people('--user=root:geheim', 'role', 'grant-permission', 'keyturn', 'readwrite', '--prefix=true', 'c/');
    const registry = await openEtcdRegistry(at('keyturn:ge%3Aheim@'), OPTIONS);
    t.after(() => registry.close());
    await registry.join(ME, LONG);
    // Its tokens are of one run of etcd.
    await etcd.kill();
    await etcd.start();
    await renewed(registry);
    assert.deepEqual(await registry.members(), [ME]);
  });
});
