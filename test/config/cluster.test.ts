/** The settings of a cluster: what they are read as, what is refused, and that no password is ever shown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from '../../src/config/config.js';
import { printConfig } from '../../src/config/print.js';
import { load, problemsIn, problemsOf } from './yaml-file.js';

const STORE = 'store: redis://10.0.0.5\n';
const FORM = 'redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS';

describe('a cluster', () => {
  it('is there with a store, and says what is built in', () => {
    assert.equal(loadConfig({}, {}).cluster, undefined);
    const { cluster } = loadConfig({ store: 'redis://10.0.0.5' }, {});
    assert.equal(cluster?.store.url, 'redis://10.0.0.5');
    assert.equal(cluster.registry, cluster.store, 'the registry is the store');
    const { store: _store, registry: _registry, ...fields } = cluster;
    assert.deepEqual(fields, {
      name: 'keyturn',
      partitions: undefined,
      peerListen: undefined,
      advertise: undefined,
      weight: 1,
      session: 3_000,
      replicas: undefined,
      tls: { cert: undefined, key: undefined, ca: undefined },
    });
  });

  it('takes the environment over the file, and flags over both', (t) => {
    const text = `${STORE}cluster: { name: a, partitions: 8, weight: 2, session: 4s, replicas: 1 }`;
    const env = {
      KEYTURN_STORE: 'rediss://u:p@h:1/2',
      KEYTURN_REGISTRY: 'redis://r',
      KEYTURN_CLUSTER_NAME: 'b',
      KEYTURN_CLUSTER_PARTITIONS: '16',
      KEYTURN_CLUSTER_PEER_LISTEN: '10.0.0.1:7423',
      KEYTURN_INSECURE: 'true',
      KEYTURN_CLUSTER_ADVERTISE: '10.0.0.1',
      KEYTURN_CLUSTER_WEIGHT: '0',
      KEYTURN_CLUSTER_SESSION: '5s',
      KEYTURN_CLUSTER_REPLICAS: 'auto',
    };
    const { cluster } = load(t, text, { clusterName: 'c', clusterAdvertise: '[fd00::1]:9' }, env);
    assert.deepEqual([cluster?.store.url, cluster?.registry.url], ['rediss://u:p@h:1/2', 'redis://r']);
    const { name, partitions, peerListen, advertise, weight, session, replicas } = cluster ?? assert.fail();
    assert.deepEqual(
      [name, partitions, peerListen, advertise, weight, session, replicas],
      ['c', 16, '10.0.0.1:7423', '[fd00::1]:9', 0, 5_000, undefined],
    );
  });

  it('may have its registry in another engine than its store', () => {
    for (const registry of ['zookeeper://h', 'zookeeper://u:p@h:2181,[fd00::1]:2182,10.0.0.1/apps/keyturn.1']) {
      const { cluster } = loadConfig({ store: 'redis://10.0.0.5', registry }, {});
      assert.equal(cluster?.registry.url, registry);
    }
  });

  it('makes every queue durable of which nobody says it', (t) => {
    const { coordinator } = load(t, `${STORE}queues: { a: { wait: 1s }, b: { durability: interval } }`);
    const { defaultPolicy, queues } = coordinator;
    assert.deepEqual(
      [defaultPolicy, ...queues.values()].map(({ durable }) => durable),
      [true, true, true],
    );
    assert.equal(queues.get('b')?.durability, 'interval');
  });

  it('that is said without a store is warned of', (t) => {
    const { cluster, warnings } = load(t, 'cluster: { weight: 2 }\nqueues: { q: { group: g, spread: 1 } }');
    assert.equal(cluster, undefined);
    assert.match(
      warnings.join('\n'),
      /^cluster \(.*:1:10\): says something, but there is no cluster: store is memory/m,
    );
    assert.match(warnings.join('\n'), /^queues\.q\.group .*means nothing without a cluster/m);
    assert.equal(warnings.length, 2);
  });
});

// biome-ignore format: a table, a row a line
const REFUSED: readonly (readonly [yaml: string, ...problems: readonly RegExp[]])[] = [
  ['store: redis+sentinel://h:1', /^store .*and the name of the master stands behind the sentinels: \/MASTER, or \/MASTER\/DATABASE; must be memory, or redis:/],
  ['store: redis+sentinel://h/m/x', /the name of the master stands behind/],
  ['store: redis+cluster://h:7000,g/1', /^store .*and nothing may follow the nodes: a Redis Cluster has database 0 only; must be memory, or redis:/],
  ['store: redis+cluster://', /which names no host/],
  ['store: postgres://h', /^store .*and a database is named behind the hosts: \/DATABASE; must be memory, or redis:.*, or postgres:\/\/\[USER/],
  ['store: postgres://h/a%00b', /a database is named behind the hosts/],
  ['store: postgres://u:1/2@h', /which is no URL: what is special in a user or password is written as/],
  [`${STORE}registry: zookeeper://u:1/2@h/a`, /which is no URL: what is special in a user or password is written as/],
  ['store: postgres://h,,g/db', /which names no host/],
  ['store: postgres://h:0/db', /nobody listens on port 0/],
  ['store: postgres://h/db?sslmode=prefer', /and sslmode is one of disable, require, verify-full/],
  ['store: postgres://h/db?password=x', /and behind a \? only sslmode may be said/],
  ['store: postgres://u:%zz@h/db', /where a % begins no escape/],
  ['store: postgres://***@h/db', /that were not printed/],
  [`store: postgres://${Array.from({ length: 17 }, (_, n) => `h${n}`).join(',')}/db`, /16 hosts are enough/],
  ['store: etcd://h', /which is no address of a store/],
  [`${STORE}registry: etcd://h:2379/path`, /^registry .*and nothing may follow the hosts; must be store, or redis:/],
  [`${STORE}registry: etcd://h,`, /which names no host/],
  ['store: zookeeper://h', /which is no address of a store/],
  [`${STORE}registry: zookeeper://`, /^registry .*which names no host/],
  [`${STORE}registry: zookeeper://h:0`, /nobody listens on port 0/],
  [`${STORE}registry: zookeeper://h,`, /which names no host/],
  [`${STORE}registry: zookeeper://h/a//b`, /behind the hosts stands the path of a node, as \/keyturn or \/apps\/keyturn/],
  [`${STORE}registry: zookeeper://h/a/`, /the path of a node/],
  [`${STORE}registry: zookeeper://h/a/..`, /the path of a node/],
  [`${STORE}registry: zookeeper://h/a%00b`, /the path of a node/],
  [`${STORE}registry: zookeeper://h?timeout=1`, /nothing may follow it behind a \?/],
  [`${STORE}registry: memory`, /^registry .*is "memory", which is no address of a store/],
  ['registry: redis://h', /^registry .*is "redis:\/\/h", but there is no cluster: store is memory/],
  ['store: 7', /^store .*is "7", must be memory, or redis:/],
  ['store: redis://h:99999', /which is no URL/],
  ['store: redis://h:0', /nobody listens on port 0/],
  ['store: redis://h/x', /a database is a number from 0/],
  ['store: redis://h/0/1', /a database is a number from 0/],
  ['store: redis:///0', /which names no host/],
  ['store: redis://h?db=1', /nothing may follow the number of the database/],
  [`${STORE}data_dir: /data`, /^data_dir .*is "\/data", but store is redis:\/\/10\.0\.0\.5, where everything is kept; leave one of them out/],
  [`${STORE}startup_hold: 10s`, /^startup_hold .*is 10s, but in a cluster all turns are stored/],
  [`${STORE}default: { durable: false }`, /^default\.durable .*is false, but in a cluster every queue is durable/],
  [`${STORE}default: { durability: memory }`, /^default\.durability .*is memory, but in a cluster everything is stored.*must be on_flush, interval or count/],
  [`${STORE}queues: { q: { durable: false } }`, /^queues\.q\.durable .*every queue is durable/],
  [`${STORE}queues: { q: { durability: memory } }`, /^queues\.q\.durability .*everything is stored/],
  [`${STORE}default: { group: g }`, /^default\.group .*may only be said of a named queue/],
  [`${STORE}default: { spread: 2 }`, /^default\.spread .*may only be said of a named queue/],
  [`${STORE}queues: { q: { group: "a b" } }`, /^queues\.q\.group .*must be 1 to 128 of/],
  [`${STORE}queues: { q: { spread: 65 } }`, /^queues\.q\.spread .*must be a whole number from 1 to 64/],
  [`${STORE}queues: { q: { spread: 2, group: g } }`, /^queues\.q\.spread .*is 2, but group is g: queues of one group live in one partition/],
  [`${STORE}queues: { q: { spread: 8, max_in_flight: 7 } }`, /^queues\.q\.max_in_flight .*is 7, must be at least spread, 8/],
  [`${STORE}queues: { q: { spread: 8, max_waiting: 7 } }`, /^queues\.q\.max_waiting .*at least spread, 8/],
  [`${STORE}queues: { q: { spread: 8, max_dead_letters: 7 } }`, /^queues\.q\.max_dead_letters .*at least spread, 8/],
  [`${STORE}queues: { q: { spread: 8, max_remembered: 7 } }`, /^queues\.q\.max_remembered .*at least spread, 8/],
  [`${STORE}queues: { q: { spread: 8, rate: { per_second: 7.5, burst: 8 } } }`, /^queues\.q\.rate .*has per_second 7\.5, must be at least spread, 8/],
  [`${STORE}queues: { q: { spread: 8, rate: { per_second: 8 } } }`, /^queues\.q\.rate .*has burst 1, must be at least spread, 8/],
  [`${STORE}default: { max_in_flight: 3 }\nqueues: { q: { spread: 4 } }`, /^queues\.q\.max_in_flight .*is 3, must be at least spread, 4/],
  [`${STORE}cluster: { name: "a:b" }`, /^cluster\.name .*must be a name of 1 to 63 of A-Za-z0-9\._-/],
  [`${STORE}cluster: { partitions: 48 }`, /^cluster\.partitions .*is "48", must be a power of two from 1 to 256/],
  [`${STORE}cluster: { partitions: 512 }`, /power of two/],
  [`${STORE}cluster: { peer_listen: unix:/x }`, /^cluster\.peer_listen .*must be host:port or \[IPv6\]:port, or auto/],
  [`${STORE}cluster: { advertise: "0.0.0.0:1" }`, /^cluster\.advertise .*that is every address of a machine, and none that others can connect to/],
  [`${STORE}cluster: { advertise: "[::]:7423" }`, /none that others can connect to/],
  [`${STORE}cluster: { advertise: "h:0" }`, /^cluster\.advertise .*must be an address at which other sidecars reach this one/],
  [`${STORE}cluster: { advertise: unix:/x }`, /must be an address at which/],
  [`${STORE}cluster: { weight: -1 }`, /^cluster\.weight .*must be a whole number from 0 to 100/],
  [`${STORE}cluster: { session: 500ms }`, /^cluster\.session .*must be a duration from 1s to 1m/],
  [`${STORE}cluster: { replicas: 6 }`, /^cluster\.replicas .*must be a whole number from 0 to 5, or auto/],
  [`${STORE}cluster: { tls: { cert: /c.pem } }`, /^cluster\.tls\.key .*is missing \(--cluster-tls-key, KEYTURN_CLUSTER_TLS_KEY\), must be given with cluster\.tls\.cert/, /^cluster\.tls\.ca .*is missing/],
  [`${STORE}cluster: { tls: { cert: /no/c.pem, key: /no/k.pem, ca: /no/a.pem } }`, /^cluster\.tls\.cert /, /^cluster\.tls\.key /, /^cluster\.tls\.ca /],
  [`${STORE}cluster: { partition: 64 }`, /^cluster\.partition .*is not a setting; did you mean partitions\?/],
];

describe('in the settings of a cluster', () => {
  for (const [yaml, ...expected] of REFUSED) {
    it(`is refused: ${yaml.replaceAll('\n', ' ')}`, (t) => {
      const problems = problemsIn(t, yaml);
      assert.equal(problems.length, expected.length, problems.join('\n'));
      for (const [index, pattern] of expected.entries()) assert.match(problems[index] ?? '', pattern);
    });
  }

  it('what is spread may have none of what has no number, and no dead letters at all', (t) => {
    const { coordinator } = load(t, `${STORE}queues: { q: { spread: 64, max_dead_letters: 0 } }`);
    assert.equal(coordinator.queues.get('q')?.spread, 64);
  });

  it('a misspelt variable is refused, and told which one may be meant', () => {
    const [problem = ''] = problemsOf(() => loadConfig({}, { KEYTURN_CLUSTER_WIGHT: '1' }));
    assert.match(problem, /did you mean KEYTURN_CLUSTER_WEIGHT\?/);
  });
});

const SECRET = 'hunter2';

describe('a password', () => {
  const addresses = [
    `redis://:${SECRET}@10.0.0.5:6379/0`,
    `rediss://${SECRET}:${SECRET}@10.0.0.5`,
    `redis://${SECRET}@10.0.0.5`,
    `postgres://${SECRET}:${SECRET}@10.0.0.5,10.0.0.6:5433/keyturn`,
  ];
  for (const address of addresses) {
    it(`is used and not shown: ${address.replaceAll(SECRET, 'x')}`, () => {
      const config = loadConfig({ store: address }, {});
      assert.equal(config.cluster?.store.url, address);
      for (const text of [
        printConfig(config),
        JSON.stringify(config),
        inspect(config, { depth: 9, showHidden: true }),
        `${config.cluster?.store}`,
      ])
        assert.ok(!text.includes(SECRET), text);
      assert.match(printConfig(config), /^store: (rediss?|postgres):\/\/\*\*\*@10\.0\.0\.5/m);
    });
  }

  it('is not shown of a registry either', () => {
    const registry = `zookeeper://u:${SECRET}@h1,h2:2182/apps`;
    const config = loadConfig({ store: 'redis://10.0.0.5', registry }, {});
    assert.match(printConfig(config), /^registry: zookeeper:\/\/\*\*\*@h1,h2:2182\/apps$/m);
    for (const text of [printConfig(config), JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })])
      assert.ok(!text.includes(SECRET), text);
  });

  it('is not invented where it was not printed', () => {
    const printed = /^store: (.*)$/m.exec(printConfig(loadConfig({ store: `redis://u:${SECRET}@h` }, {})))?.[1];
    assert.equal(printed, 'redis://***@h');
    const [problem = ''] = problemsOf(() => loadConfig({ store: printed }, {}));
    assert.match(problem, /where \*\*\* stands for a user and password that were not printed; KEYTURN_STORE can say/);
  });

  const wrong = [
    `redis://:${SECRET}@h/x`,
    `redis://:${SECRET}@`,
    `redis://:${SECRET}`,
    `redis://:a/${SECRET}@h`,
    `redis://:a@${SECRET}@h:99999`,
    `redis://:${SECRET}?a@h`,
    `redis://h?password=${SECRET}`,
    `redis://:%zz${SECRET}@h`,
    `redis+sentinel://:${SECRET}@h`,
    `redis+cluster://:${SECRET}@h,g/1`,
    `zookeeper://u:${SECRET}@h/a//b`,
    `zookeeper://u:${SECRET}@h?x=1`,
    `postgres://u:${SECRET}@h`,
    `postgres://u:${SECRET}@h/db?password=${SECRET}`,
    `postgres://u:%zz${SECRET}@h/db`,
    `postgres://u:1/${SECRET}@h`,
    `zookeeper://u:1/${SECRET}@h/a`,
    `:${SECRET}@h`,
    `redis:${SECRET}`,
    `redis://h:${SECRET}`,
    `redis:${SECRET}@h`,
    `redis://:${SECRET}@h#x`,
    ` redis://:${SECRET}@h/x`,
  ];
  for (const setting of ['store', 'registry']) {
    for (const address of wrong) {
      it(`is not shown in what is said of a wrong ${setting}: ${address.replaceAll(SECRET, 'x')}`, (t) => {
        const before = setting === 'store' ? '' : STORE;
        const problems = problemsIn(t, `${before}${setting}: ${JSON.stringify(address)}`);
        assert.equal(problems.length, 1);
        const [problem = ''] = problems;
        assert.ok(problem.includes(FORM) && !problem.includes(SECRET), problem);
      });
    }
  }
});
