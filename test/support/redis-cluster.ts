/** A Redis Cluster of the test's own: masters, replicas of each or none, all on loopback. */
import { slotOf } from '../../src/cluster/redis/places/slot.js';
import { LossyProxy } from './cluster/lossy-proxy.js';
import { RawRedis } from './cluster/raw-redis.js';
import { freePort } from './free-port.js';
import { type Cleanup, TestRedis } from './redis.js';

/**
 * Until something has happened at all nodes, ms. Masters vote for replicas of the same master once in twice the node time-out, and a
 * replica that got no votes stands again after four times the node time-out.
 */
const LONGEST_MS = 120_000;
const POLL_EVERY_MS = 50;
/** Redis gives up a failover by hand that found no votes in 5 s; only then is it asked for again. */
const BY_HAND_AGAIN_MS = 6_000;
/** Keys that one command moves. */
const MOVED_AT_ONCE = 20;
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

  private constructor(
    private readonly cleanup: Cleanup,
    readonly redis: TestRedis,
    readonly busPort: number,
    private readonly front: LossyProxy | undefined,
    private link: RawRedis,
  ) {}

  static async of(cleanup: Cleanup, redis: TestRedis, busPort: number, front?: LossyProxy): Promise<ClusterNode> {
    return new ClusterNode(cleanup, redis, busPort, front, await RawRedis.connect(cleanup, redis.port));
  }

  /** Past proxies. */
  get raw(): RawRedis {
    return this.link;
  }

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

  ask(...words: string[]): Promise<unknown> {
    return this.link.ask(...words);
  }

  async kill(): Promise<void> {
    this.link.end();
    await this.redis.kill();
  }

  async start(): Promise<void> {
    await this.redis.start();
    this.link = await RawRedis.connect(this.cleanup, this.port);
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
    const added = Array.from({ length: MASTERS * (1 + replicas) }, () => cluster.#add());
    cluster.nodes.push(...(await Promise.all(added)));
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

  get #live(): readonly ClusterNode[] {
    return this.nodes.filter((node) => node !== this.#killed);
  }

  /** The one that has the slot of a key, as all that live see it; waits until they do. */
  async masterOf(key: string): Promise<ClusterNode> {
    const slot = slotOf(key);
    let found: ClusterNode | undefined;
    await comesTrue(`all know who has slot ${slot}`, async () => {
      found = await this.#agreed(slot);
      return found !== undefined;
    });
    if (found === undefined) throw new Error('nobody has it');
    return found;
  }

  /** @returns undefined: they do not agree, or on one that is dead */
  async #agreed(slot: number): Promise<ClusterNode | undefined> {
    const live = this.#live;
    const seen = live.map(async (node) => ownerIn(String(await node.ask('CLUSTER', 'NODES')), slot));
    const [only, ...others] = new Set(await Promise.all(seen));
    return others.length > 0 ? undefined : live.find(({ shown }) => String(shown) === only);
  }

  /** The replica of the master of a key takes its place by hand, with `how`: again, where there were no votes. @returns the new master */
  async failOver(key: string, how: '' | 'FORCE' | 'TAKEOVER'): Promise<ClusterNode> {
    const master = await this.masterOf(key);
    const replica = await this.replicaOf(master);
    let askedAt = Number.NEGATIVE_INFINITY;
    await comesTrue(`${replica.port} has replaced ${master.port} (${how})`, async () => {
      if ((await this.#agreed(slotOf(key))) === replica) return true;
      if (Date.now() - askedAt < BY_HAND_AGAIN_MS) return false;
      askedAt = Date.now();
      // It may be the master since it was asked, which not all know.
      await replica.ask('CLUSTER', 'FAILOVER', ...(how === '' ? [] : [how])).catch(() => undefined);
      return false;
    });
    return replica;
  }

  /** A replica of that node. */
  async replicaOf(master: ClusterNode): Promise<ClusterNode> {
    const id = await master.id();
    for (const node of this.#live) {
      if (node !== master && String(await node.ask('CLUSTER', 'NODES')).includes(`myself,slave ${id}`)) return node;
    }
    throw new Error(`the master at ${master.port} has no replica`);
  }

  /** As `kill -9`. */
  async kill(node: ClusterNode): Promise<void> {
    this.#killed = node;
    await node.kill();
  }

  /** The one that was killed comes back, and is told what it is. */
  async restart(): Promise<void> {
    await this.#killed?.start();
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
    for (let at = 0; at < keys.length; at += MOVED_AT_ONCE) {
      const some = keys.slice(at, at + MOVED_AT_ONCE);
      await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', '60000', 'KEYS', ...some);
    }
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
    return ClusterNode.of(this.cleanup, redis, busPort, front);
  }

  /** What `redis-cli --cluster create` does. */
  async #together(replicas: number): Promise<void> {
    const { masters, nodes } = this;
    for (const [at, node] of masters.entries()) {
      const [from, to] = [at, at + 1].map((one) => Math.floor((one * SLOTS) / MASTERS));
      await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1));
    }
    for (const [at, node] of nodes.entries()) {
      await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1));
      // Each by hand: that some tell others of them takes seconds.
      for (const { port, busPort } of nodes.slice(0, at))
        await node.ask('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort));
    }
    await comesTrue('all nodes know each other', async () => {
      const seen = await Promise.all(nodes.map(async ({ raw }) => String(await raw.ask('CLUSTER', 'NODES'))));
      return seen.every((text) => text.trim().split('\n').length === nodes.length && !text.includes('handshake'));
    });
    if (replicas > 0)
      for (const [at, node] of nodes.slice(MASTERS).entries())
        await node.raw.ask('CLUSTER', 'REPLICATE', (await masters[at % MASTERS]?.id()) ?? '');
    await comesTrue('it is whole', async () => {
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
}

/** An error is a no: nodes come and go. */
function comesTrue(what: string, isSo: () => Promise<boolean>): Promise<void> {
  return eventually(what, () => isSo().catch(() => false));
}

/** Asks again until it is so. */
export async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + LONGEST_MS;
  while (!(await isSo())) {
    if (Date.now() > giveUp) throw new Error(`${what}: not after ${LONGEST_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
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
