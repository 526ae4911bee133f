/** A Redis Cluster of the test's own: masters, replicas of each or none, all on loopback. */
import { slotOf } from '../../src/cluster/redis/places/slot.js';
import { LossyProxy } from './cluster/lossy-proxy.js';
import { RawRedis } from './cluster/raw-redis.js';
import { freePort } from './free-port.js';
import { type Cleanup, TestRedis } from './redis.js';

const LONGEST_START_MS = 60_000;
const MASTERS = 3;
const SLOTS = 16_384;
/** Beyond this no failover is begun, ms; where there are replicas, one that is silent for so long is replaced. */
const NODE_TIMEOUT = { alone: 15_000, replaced: 3_000 } as const;

export interface ClusterOptions {
  /** Of each master. */
  readonly replicas?: 0 | 1 | 2;
  /** Of all servers. */
  readonly settings?: readonly string[];
  /** Everybody, replicas too, is told of a proxy instead of each server; what it cuts is what a replica gets. */
  readonly behindProxies?: true;
}

export class ClusterNode {
  #id = '';

  constructor(
    readonly redis: TestRedis,
    readonly busPort: number,
    readonly raw: RawRedis,
    private readonly front: LossyProxy | undefined,
  ) {}

  get proxy(): LossyProxy {
    if (this.front === undefined) throw new Error('it stands behind no proxy');
    return this.front;
  }

  /** Where others are told that it is. */
  get shown(): number {
    return this.front?.port ?? this.port;
  }

  get port(): number {
    return this.redis.port;
  }

  async id(): Promise<string> {
    this.#id ||= String(await this.raw.ask('CLUSTER', 'MYID'));
    return this.#id;
  }

  /** A connection of now: one that was killed with its server is of no use. */
  async ask(...words: string[]): Promise<unknown> {
    const raw = await RawRedis.connect({ after: () => undefined }, this.port);
    try {
      return await raw.ask(...words);
    } finally {
      raw.end();
    }
  }
}

export class TestRedisCluster {
  #killed: ClusterNode | undefined;

  private constructor(
    private readonly cleanup: Cleanup,
    private readonly settings: readonly string[],
    private readonly isBehindProxies: boolean,
    readonly nodes: ClusterNode[],
  ) {}

  static async start(cleanup: Cleanup, options: ClusterOptions = {}): Promise<TestRedisCluster> {
    const { replicas = 0, settings = [], behindProxies = false } = options;
    const timeout = replicas === 0 ? NODE_TIMEOUT.alone : NODE_TIMEOUT.replaced;
    const own = [...settings, '--cluster-node-timeout', String(timeout)];
    const cluster = new TestRedisCluster(cleanup, own, behindProxies, []);
    for (let at = 0; at < MASTERS * (1 + replicas); at += 1) await cluster.#add();
    await cluster.#together(replicas);
    return cluster;
  }

  /** For `store`. */
  get url(): string {
    return urlOf(this.nodes.map(({ shown }) => shown));
  }

  get masters(): readonly ClusterNode[] {
    return this.nodes.slice(0, MASTERS);
  }

  /** The one that has the slot of a key, as all that live see it; waits until they do. */
  async masterOf(key: string): Promise<ClusterNode> {
    const slot = slotOf(key);
    let found: ClusterNode | undefined;
    await this.#until(`all know who has slot ${slot}`, async () => {
      const owners = new Set<string>();
      for (const node of this.nodes) {
        if (node === this.#killed) continue;
        owners.add(ownerIn(String(await node.ask('CLUSTER', 'NODES')), slot));
      }
      const [only = ''] = owners;
      found = this.nodes.find(({ shown }) => String(shown) === only);
      return owners.size === 1 && found !== undefined && found !== this.#killed;
    });
    if (found === undefined) throw new Error('nobody has it');
    return found;
  }

  /** A replica of that node. */
  async replicaOf(master: ClusterNode): Promise<ClusterNode> {
    const id = await master.id();
    for (const node of this.nodes) {
      if (node !== master && String(await node.ask('CLUSTER', 'NODES')).includes(`myself,slave ${id}`)) return node;
    }
    throw new Error(`the master at ${master.port} has no replica`);
  }

  /** As `kill -9`. */
  async kill(node: ClusterNode): Promise<void> {
    this.#killed = node;
    await node.redis.kill();
  }

  /** The one that was killed comes back, and is told what it is. */
  async restart(): Promise<void> {
    const node = this.#killed;
    await node?.redis.start();
    this.#killed = undefined;
  }

  /** From now on the slot is on its way: keys are at both. */
  async beginMove(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await to.ask('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', await from.id());
    await from.ask('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', await to.id());
  }

  /** @returns how many keys went */
  async moveKeys(slot: number, from: ClusterNode, to: ClusterNode, most: number): Promise<number> {
    const found = await from.raw.ask('CLUSTER', 'GETKEYSINSLOT', String(slot), String(most));
    const keys = Array.isArray(found) ? found.map(String) : [];
    for (const key of keys) await from.raw.ask('MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
    return keys.length;
  }

  async endMove(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    const id = await to.id();
    for (const node of [to, from, ...this.nodes.filter((one) => one !== to && one !== from)]) {
      const isMaster = String(await node.ask('CLUSTER', 'NODES')).includes('myself,master');
      if (isMaster) await node.ask('CLUSTER', 'SETSLOT', String(slot), 'NODE', id);
    }
  }

  async #add(): Promise<ClusterNode> {
    const busPort = await freePort();
    const front = this.isBehindProxies ? await LossyProxy.start(this.cleanup, 0) : undefined;
    const settings = [
      ...(front === undefined ? [] : ['--cluster-announce-port', String(front.port)]),
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(busPort),
      '--cluster-config-file',
      'nodes.conf',
      '--cluster-require-full-coverage',
      'no',
      '--cluster-allow-replica-migration',
      'no',
      '--cluster-replica-validity-factor',
      '0',
      '--repl-diskless-sync-delay',
      '0',
    ];
    const redis = await TestRedis.start(this.cleanup, [...settings, ...this.settings]);
    if (front !== undefined) {
      front.target = redis.port;
      // What is cut is replication alone.
      front.cutOnly = 'REPLCONF';
    }
    const node = new ClusterNode(redis, busPort, await RawRedis.connect(this.cleanup, redis.port), front);
    this.nodes.push(node);
    return node;
  }

  /** What `redis-cli --cluster create` does. */
  async #together(replicas: number): Promise<void> {
    const { masters, nodes } = this;
    const [first] = nodes;
    for (const [at, node] of masters.entries()) {
      const [from, to] = [at, at + 1].map((one) => Math.floor((one * SLOTS) / MASTERS));
      await node.raw.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1));
    }
    for (const [at, node] of nodes.entries()) {
      await node.raw.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1));
      if (first !== undefined && node !== first)
        await node.raw.ask('CLUSTER', 'MEET', '127.0.0.1', String(first.port), String(first.busPort));
    }
    await this.#until('all nodes know each other', async () => {
      const seen = await Promise.all(nodes.map(async ({ raw }) => String(await raw.ask('CLUSTER', 'NODES'))));
      return seen.every((text) => text.trim().split('\n').length === nodes.length && !text.includes('handshake'));
    });
    if (replicas > 0)
      for (const [at, node] of nodes.slice(MASTERS).entries())
        await node.raw.ask('CLUSTER', 'REPLICATE', (await masters[at % MASTERS]?.id()) ?? '');
    await this.#until('it is whole', async () => {
      const seen = await Promise.all(
        nodes.map(async ({ raw }) => [
          String(await raw.ask('CLUSTER', 'INFO')),
          String(await raw.ask('INFO', 'replication')),
          JSON.stringify(await raw.ask('CLUSTER', 'SLOTS')),
        ]),
      );
      return seen.every(
        ([info = '', replication = '', slots = '']) =>
          /cluster_state:ok/.test(info) &&
          /cluster_slots_assigned:16384/.test(info) &&
          nodes.every(({ shown }) => slots.includes(String(shown))) &&
          (/role:master/.test(replication)
            ? replication.includes(`connected_slaves:${replicas}`)
            : /master_link_status:up/.test(replication)),
      );
    });
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const giveUp = Date.now() + LONGEST_START_MS;
    while (!(await isSo().catch(() => false))) {
      if (Date.now() > giveUp) throw new Error(`${what}: not after ${LONGEST_START_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export function urlOf(ports: readonly number[]): string {
  return `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/`;
}

/** The port of the master that has a slot, in an answer of `CLUSTER NODES`; of two that claim it the one with the larger epoch. */
function ownerIn(text: string, slot: number): string {
  const claims = text.split('\n').flatMap((line) => {
    const [, place = '', flags = '', , , , epoch = '', , ...slots] = line.split(' ');
    const has = slots.some((range) => {
      const [from = Number.NaN, to = from] = range.split('-').map(Number);
      return slot >= from && slot <= to;
    });
    return has && flags.includes('master') ? [{ port: /:(\d+)@/.exec(place)?.[1] ?? '', epoch: Number(epoch) }] : [];
  });
  return claims.sort((a, b) => b.epoch - a.epoch)[0]?.port ?? '';
}
