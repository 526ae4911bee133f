import type { Clock } from '../../../local/clock.js';
import { JournalError } from '../../../local/journal/journal.js';
import { type EngineHost, hostName } from '../../address/engine-address.js';
import { storeError } from '../../store/partition/failures.js';
import type { RedisConnection } from '../connection.js';
import { KeptConnections } from '../kept-connections.js';
import { noNode } from '../server-check.js';
import { nodeView } from './node-view.js';
import { SLOTS } from './slot.js';
import { SlotMap } from './slot-map.js';

/** How often all nodes are asked, ms: a master that was replaced may answer on for as long as nobody reaches it. */
const ASK_EVERY = 1_000;
/** When somebody was told that a slot is elsewhere, not sooner after the last time, ms. */
const LEAST_BETWEEN = 25;
/** Nodes that are asked, at most: masters first. */
const MOST_ASKED = 32;

interface WatchOptions {
  /** For people. */
  readonly name: string;
  /** Nodes of the address. */
  readonly seeds: readonly EngineHost[];
  readonly clock: Clock;
  /** @throws JournalError */
  readonly open: (host: EngineHost, deadline: number) => Promise<RedisConnection>;
  /** Something in the map is new. */
  readonly changed: () => void;
}

/** Asks the nodes of a Redis Cluster who has which slots: once a second, and when somebody has reason to. */
export class SlotWatch {
  readonly map = new SlotMap();
  readonly #connections: KeptConnections;
  /** Those that have not answered yet. */
  readonly #asked = new Set<string>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #callOff: (() => void) | undefined;
  #callOffSoon: (() => void) | undefined;
  /** Since the last time that all were asked. */
  #answers = 0;
  #isClosed = false;

  constructor(private readonly options: WatchOptions) {
    this.#connections = new KeptConnections(options.open);
  }

  /** @throws JournalError: nobody answers, or it is no whole cluster */
  async start(deadline: number): Promise<void> {
    const { name, seeds } = this.options;
    const asked = await Promise.allSettled(seeds.map((host) => this.#ask(host, deadline)));
    if (!asked.some(({ status }) => status === 'fulfilled')) {
      const errors = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
      const unfit = errors.find((error) => error instanceof JournalError && error.problem === 'unfit');
      throw unfit ?? storeError('io', `no node of ${name} answers: ${firstWords(errors[0])}`, errors[0]);
    }
    const { covered } = this.map;
    if (covered < SLOTS) {
      const what = `${name} has masters for ${covered} of ${SLOTS} slots: make it whole (redis-cli --cluster create, or --cluster fix)`;
      throw storeError('unfit', what);
    }
    this.#arm();
  }

  /** The map may be old. */
  soon(): void {
    if (this.#isClosed || this.#callOffSoon !== undefined) return;
    const wait = Math.max(0, this.#lookedAt + LEAST_BETWEEN - this.options.clock.now());
    this.#callOffSoon = this.options.clock.after(wait, () => {
      this.#callOffSoon = undefined;
      this.#look();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff?.();
    this.#callOffSoon?.();
    this.#connections.close();
  }

  #arm(): void {
    if (this.#isClosed) return;
    this.#callOff = this.options.clock.after(ASK_EVERY, () => {
      this.#look();
      this.#arm();
    });
  }

  /** All at once, and none waits for another: what one says counts when it is here. */
  #look(): void {
    this.#lookedAt = this.options.clock.now();
    const known = this.map.nodes().slice(0, MOST_ASKED);
    // Nodes may all have new addresses.
    const hosts = this.#answers === 0 ? [...known, ...this.options.seeds] : known;
    this.#answers = 0;
    this.#connections.keepOnly(hosts);
    for (const host of hosts) {
      if (this.#asked.has(hostName(host))) continue;
      // One that does not answer: who uses it notices by itself.
      this.#ask(host, ASK_EVERY).catch(() => undefined);
    }
  }

  /** @throws JournalError */
  async #ask(host: EngineHost, deadline: number): Promise<void> {
    const name = hostName(host);
    this.#asked.add(name);
    try {
      const connection = await this.#connections.to(host, deadline);
      const [nodes, slots] = await Promise.all([
        connection.ask(['CLUSTER', 'NODES'], deadline),
        connection.ask(['CLUSTER', 'SLOTS'], deadline),
      ]);
      this.#learn(host, String(nodes), slots);
    } catch (error) {
      this.#connections.leave(host);
      if (error instanceof JournalError && /cluster support disabled/i.test(error.message))
        throw storeError('unfit', noNode({ name: `${name}, a node of ${this.options.name},` }), error);
      throw error;
    } finally {
      this.#asked.delete(name);
    }
  }

  #learn(host: EngineHost, nodes: string, slots: unknown): void {
    const view = nodeView(host, nodes, slots);
    if (view === undefined)
      throw storeError('io', `${hostName(host)} says nothing of the nodes of ${this.options.name}`);
    if (this.#isClosed) return;
    this.#answers += 1;
    if (this.map.learn(view, this.options.clock.now())) this.options.changed();
  }
}

function firstWords(error: unknown): string {
  return error instanceof Error ? (error.message.split('; ')[0] ?? '') : String(error);
}
