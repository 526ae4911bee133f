/**
 * Which partition a queue and a key belong to, and which member is wanted as the home of a partition. Everybody computes
 * both from the same facts, so that nobody has to be asked.
 */
import { crc32 } from 'node:zlib';
import type { Route } from '../store/cluster-store.js';

/** 2 … 256 and 1: powers of two, so that their number can be doubled one day. */
const MOST_PARTITIONS = 256;

export class PartitionMap {
  readonly #mask: number;
  /** Of queues without spread, as they were asked for; bounded by {@link KNOWN}. */
  readonly #known = new Map<string, number>();

  /**
   * @param partitions a power of two
   * @param routes of queues that have one
   */
  constructor(
    readonly partitions: number,
    private readonly routes: ReadonlyMap<string, Route>,
    /** Rows of all partitions may say what is on its way from one to another. */
    readonly keepsOutbox = false,
  ) {
    if (partitions < 1 || partitions > MOST_PARTITIONS || (partitions & (partitions - 1)) !== 0) {
      throw new RangeError(`${partitions} partitions: must be a power of two up to ${MOST_PARTITIONS}`);
    }
    this.#mask = partitions - 1;
  }

  /**
   * The partition in which this key is decided about. Order, exclusion, idempotency and coalescing are per key.
   * @param itemId in place of an empty key: an item without a key is spread by its own id
   */
  of(queue: string, key: string, itemId = ''): number {
    const route = this.routes.get(queue);
    if (route === undefined || route.spread === 1) return this.#single(queue, route);
    const part = crc32(key === '' ? itemId : key) % route.spread;
    return this.#ofPart(route, part);
  }

  /** All partitions in which something of this queue may be, each once, in their order. */
  all(queue: string): readonly number[] {
    const route = this.routes.get(queue);
    if (route === undefined || route.spread === 1) return [this.#single(queue, route)];
    const parts = Array.from({ length: route.spread }, (_, part) => this.#ofPart(route, part));
    return [...new Set(parts)].sort((a, b) => a - b);
  }

  /** Over so many parts the queue is spread; 1: over none. */
  spreadOf(queue: string): number {
    return this.routes.get(queue)?.spread ?? 1;
  }

  /** The queues that are spread. */
  *spreadQueues(): Generator<string> {
    for (const [queue, { spread }] of this.routes) if (spread > 1) yield queue;
  }

  /** Which of its parts are in this partition, by their numbers from 0. Several may be; none: the queue is not there. */
  partsIn(queue: string, partition: number): readonly number[] {
    const route = this.routes.get(queue);
    if (route === undefined || route.spread === 1) return this.#single(queue, route) === partition ? [0] : [];
    const parts = Array.from({ length: route.spread }, (_, part) => part);
    return parts.filter((part) => this.#ofPart(route, part) === partition);
  }

  #ofPart({ group }: Route, part: number): number {
    return crc32(`${group}#${part}`) & this.#mask;
  }

  /** In which the leaders of a group are chosen. Routes are of queues: a group of leaders has none. */
  ofLeaders(group: string): number {
    return crc32(group) & this.#mask;
  }

  /** Of a token: `token mod P` is its partition. What is no token is decided about somewhere all the same. */
  ofToken(token: number): number {
    return Number.isSafeInteger(token) && token > 0 ? token % this.partitions : 0;
  }

  /** Of a turn: only the token says where a keyless item of a spread queue was handed out. */
  ofTurn(queue: string, key: string, token: number): number {
    return key === '' && this.isSpread(queue) ? this.ofToken(token) : this.of(queue, key);
  }

  /** More than one partition has something of this queue. */
  isSpread(queue: string): boolean {
    return this.routes.size > 0 && this.spreadOf(queue) > 1;
  }

  /** Queues of one group are decided about together. A queue is a group of its own where nothing else is said. */
  groupOf(queue: string): string {
    return this.routes.get(queue)?.group ?? queue;
  }

  #single(queue: string, route: Route | undefined): number {
    const known = this.#known.get(queue);
    if (known !== undefined) return known;
    const partition = crc32(route?.group ?? queue) & this.#mask;
    if (this.#known.size >= KNOWN) this.#known.clear();
    this.#known.set(queue, partition);
    return partition;
  }
}

/** Names of queues whose partition is remembered. */
const KNOWN = 10_000;
