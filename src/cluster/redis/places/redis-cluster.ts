import type { Clock } from '../../../local/clock.js';
import { JournalError } from '../../../local/journal/journal.js';
import { type EngineAddress, type EngineHost, engineAddress, hostName } from '../../address/engine-address.js';
import { REDIS_CLUSTER } from '../../address/forms.js';
import { storeError } from '../../store/partition/failures.js';
import type { RedisAddress } from '../address.js';
import { RedisConnection, type RedisLink } from '../connection.js';
import { type RedisServer, startDeadline } from '../server.js';
import { cautionOf } from './caution.js';
import { ClusterNode, type Lane } from './cluster-node.js';
import type { KeyedRequest, PlacesOptions, RedisPlace, RedisPlaces } from './places.js';
import { redirectIn } from './redirect.js';
import { slotOf } from './slot.js';
import { type SlotHost, SlotPlace } from './slot-place.js';
import { SlotWatch } from './slot-watch.js';

/** So long a look waits for a node, ms; for one that was silent the last time. */
const READ_WITHIN = 500;
const READ_OF_SILENT_WITHIN = 100;

/**
 * Keys at the masters of a Redis Cluster, each by its slot. A slot that has another master than before, or whose master was started
 * anew, is told as a failover before anything is asked there.
 */
export class RedisCluster implements RedisPlaces, SlotHost {
  readonly isSpread = true;
  readonly name: string;
  readonly clock: Clock;
  readonly deadline: number;
  onFailover: RedisPlaces['onFailover'];
  caution: string | undefined;
  replicas = 0;
  readonly #address: EngineAddress;
  readonly #watch: SlotWatch;
  readonly #nodes = new Map<string, ClusterNode>();
  /** Of the slots that are used: the node that has them. */
  readonly #owners = new Map<number, EngineHost>();
  /** Nodes that answered, or did not, when they were read last. */
  readonly #answered = new Map<string, boolean>();
  #isClosed = false;

  private constructor(
    url: string,
    private readonly options: PlacesOptions,
  ) {
    const address = engineAddress(url, [REDIS_CLUSTER]);
    if (typeof address === 'string') throw storeError('unfit', `the address of the Redis Cluster is one ${address}`);
    this.#address = address;
    this.name = address.name;
    this.clock = options.clock;
    this.deadline = options.deadline;
    this.#watch = new SlotWatch({
      name: address.name,
      seeds: address.hosts,
      clock: options.clock,
      open: (host, deadline) => RedisConnection.open(this.#redisAt(host), options, deadline),
      changed: () => this.#changed(),
    });
  }

  /** @throws JournalError that says what is wrong and what to do */
  static async open(url: string, options: PlacesOptions): Promise<RedisCluster> {
    const cluster = new RedisCluster(url, options);
    try {
      await cluster.#watch.start(startDeadline(options));
      await cluster.#look();
      return cluster;
    } catch (error) {
      cluster.close();
      throw error;
    }
  }

  at(key: string): RedisPlace {
    return new SlotPlace(this, this.#used(key), 'main');
  }

  readerAt(key: string): RedisPlace {
    return new SlotPlace(this, this.#used(key), 'reader');
  }

  identityOf(slot: number): string {
    const owner = this.#owners.get(slot);
    if (owner === undefined) return '';
    const name = hostName(owner);
    return `${name} ${this.#nodes.get(name)?.identity ?? ''}`;
  }

  masterOf(slot: number): string | undefined {
    const owner = this.#owners.get(slot);
    return owner && hostName(owner);
  }

  async serverOf(slot: number, lane: Lane): Promise<RedisServer> {
    const owner = this.#owners.get(slot);
    if (owner === undefined) throw storeError('io', `slot ${slot} of ${this.name} has no master`);
    return this.#node(owner).server(lane);
  }

  async sideAt(node: EngineHost): Promise<RedisServer> {
    return this.#node(node).server('side');
  }

  lookSoon(): void {
    this.#watch.soon();
  }

  async readEach(requests: readonly KeyedRequest[]): Promise<readonly PromiseSettledResult<unknown>[]> {
    const byNode = new Map<string, { readonly slot: number; readonly requests: KeyedRequest[] }>();
    for (const request of requests) {
      const slot = this.#used(request.key);
      const owner = this.#owners.get(slot);
      const name = owner === undefined ? '' : hostName(owner);
      const group = byNode.get(name) ?? { slot, requests: [] };
      group.requests.push(request);
      byNode.set(name, group);
    }
    const results = new Map<KeyedRequest, PromiseSettledResult<unknown>>();
    await Promise.all(
      [...byNode].map(async ([name, group]) => {
        const settled = await this.#readAt(name, group.slot, group.requests);
        for (const [at, request] of group.requests.entries()) {
          const result = settled[at];
          if (result !== undefined) results.set(request, result);
        }
      }),
    );
    return requests.map((request) => results.get(request) ?? { status: 'rejected', reason: this.#silence() });
  }

  async atEach(task: (link: RedisLink) => Promise<void>): Promise<void> {
    const servers = await this.#reached();
    await Promise.all(servers.map((server) => server.use(task)));
  }

  close(): void {
    this.#isClosed = true;
    this.#watch.close();
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
  }

  /** At the start: what masters there are. */
  async #look(): Promise<void> {
    const servers = await this.#reached();
    const least = Math.min(...servers.map(({ facts }) => facts.replicas));
    // One less than each of them has: the death of one server stops nothing.
    this.replicas = Math.max(0, least - 1);
    const [first] = servers;
    if (first !== undefined) this.caution = await first.use((link) => cautionOf(link, this.name));
  }

  /** Masters that are reached. @throws JournalError: one of them cannot be used, or none is reached */
  async #reached(): Promise<readonly RedisServer[]> {
    const patience = startDeadline(this.options);
    const opened = await Promise.allSettled(
      this.#watch.map.masters().map((master) => this.#node(master).server('main', patience)),
    );
    const servers = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const errors = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    const unfit = errors.find((error) => error instanceof JournalError && error.problem === 'unfit');
    if (unfit !== undefined || servers.length === 0) throw unfit ?? errors[0];
    return servers;
  }

  /** All of one node in one pipeline; those that are elsewhere by now, there. */
  async #readAt(
    name: string,
    slot: number,
    requests: readonly KeyedRequest[],
  ): Promise<readonly PromiseSettledResult<unknown>[]> {
    const answered = this.#answered.get(name);
    const begins = this.#answered.size === 0 ? startDeadline(this.options) : READ_WITHIN;
    let callOff = () => {};
    const late = new Promise<never>((_, reject) => {
      callOff = this.clock.after(answered === false ? READ_OF_SILENT_WITHIN : begins, () => reject(this.#silence()));
    });
    const read = this.serverOf(slot, 'side').then((server) =>
      server.use((link) => Promise.allSettled(requests.map(({ args }) => link.ask(args)))),
    );
    read.catch(() => undefined);
    try {
      const settled = await Promise.race([read, late]);
      this.#answered.set(name, true);
      return await Promise.race([late, Promise.all(settled.map((one, at) => this.#elsewhere(requests[at], one)))]);
    } catch (reason) {
      this.#answered.set(name, false);
      this.lookSoon();
      return requests.map(() => ({ status: 'rejected', reason }) as const);
    } finally {
      callOff();
    }
  }

  async #elsewhere(
    request: KeyedRequest | undefined,
    result: PromiseSettledResult<unknown>,
  ): Promise<PromiseSettledResult<unknown>> {
    if (request === undefined || result.status === 'fulfilled') return result;
    if (redirectIn(result.reason) === undefined) return result;
    const place = new SlotPlace(this, this.#used(request.key), 'side');
    const [again] = await Promise.allSettled([place.use((link) => link.ask(request.args))]);
    return again ?? result;
  }

  #silence(): Error {
    return storeError('io', `a master of ${this.name} did not answer in time`);
  }

  #used(key: string): number {
    const slot = slotOf(key);
    if (!this.#owners.has(slot)) {
      const owner = this.#watch.map.ownerOf(slot);
      if (owner !== undefined) this.#owners.set(slot, owner);
    }
    return slot;
  }

  #node(host: EngineHost): ClusterNode {
    const name = hostName(host);
    const there = this.#nodes.get(name);
    if (there !== undefined) return there;
    if (this.#isClosed) throw storeError('io', `the connections to ${this.name} were closed`);
    const node = new ClusterNode(this.#redisAt(host), this.options, this.clock);
    node.onFailover = () => this.#startedAnew(name);
    this.#nodes.set(name, node);
    return node;
  }

  #startedAnew(name: string): void {
    const touched = [...this.#owners].flatMap(([slot, owner]) => (hostName(owner) === name ? [slot] : []));
    this.#failedOver(new Set(touched));
  }

  #changed(): void {
    const touched = new Set<number>();
    for (const [slot, before] of this.#owners) {
      const owner = this.#watch.map.ownerOf(slot);
      if (owner === undefined || hostName(owner) === hostName(before)) continue;
      this.#owners.set(slot, owner);
      touched.add(slot);
    }
    if (touched.size === 0) return;
    // Nothing is asked any more of a node that has none of them: it may answer on, as a master that was replaced does.
    const used = new Set([...this.#owners.values()].map(hostName));
    for (const [name, node] of [...this.#nodes]) {
      if (used.has(name)) continue;
      this.#nodes.delete(name);
      this.#answered.delete(name);
      node.close();
    }
    this.#failedOver(touched);
  }

  #failedOver(touched: ReadonlySet<number>): void {
    this.onFailover?.((key) => touched.has(slotOf(key)));
  }

  #redisAt({ host, port }: EngineHost): RedisAddress {
    const { username, password, scheme } = this.#address;
    const name = `${hostName({ host, port })}, a node of ${this.name},`;
    return { host, port, tls: scheme.startsWith('rediss'), username, password, database: 0, name };
  }
}
