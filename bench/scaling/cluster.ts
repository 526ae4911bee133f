import { PartitionMap } from '../../src/cluster/partitions/partition-map.js';
import { WantedHomes } from '../../src/cluster/partitions/wanted-homes.js';
import { Random } from '../../src/core/structures/random.js';
import { VirtualTime } from '../../src/designs/virtual-time.js';
import type { Costs } from './costs.js';
import { EventLoop, Machine } from './machine.js';

export interface Shape {
  /** Members that own partitions. */
  readonly homes: number;
  /** Sidecars that own none, each with a worker. */
  readonly gateways: number;
  readonly partitions: number;
  readonly spread: number;
  /** Operations that each worker has open. */
  readonly inFlight: number;
  /** Keys are drawn from so many. */
  readonly keys: number;
  /** All processes share so many cores; unset: each has one of its own. */
  readonly cores: number | undefined;
  /** Homes are shared out evenly by hand, as the row `hot` does; else as members do it by themselves. */
  readonly evenly: boolean;
  /** Members are listed in the store; else elsewhere. */
  readonly registryInStore: boolean;
}

/** What came of it. Shares are of the time that was looked at. */
export interface Load {
  /** Pairs a second. */
  readonly rate: number;
  /** CPU of the busiest of its kind. */
  readonly home: number;
  readonly gateway: number;
  /** Of the time in which the store could not begin anything: its CPU and its disk. */
  readonly store: number;
  /** Of the store's CPU, what listings of members ask for; above 1: more than it has. */
  readonly registry: number;
  /** Of the store's network. */
  readonly link: number;
  /** µs of CPU of a pair: all homes, all gateways, the store. */
  readonly ofPair: {
    readonly home: number;
    readonly busiestHome: number;
    readonly gateway: number;
    readonly store: number;
  };
  readonly batchesOfPair: number;
}

const QUEUE = 'bench';
/** Of what came over a link, entries in a turn (adr/042). */
const PIECE = 128;
/** Rows of a batch at most (adr/028). */
const BATCH_ROWS = 1_000;
/** Of a listing, µs. */
const LISTED_EVERY = 250_000;
const LOOKED_EVERY = 1_000_000;
/** Until it runs evenly, and how long it is looked at, µs. */
const WARM_UP = 120_000;
const WINDOW = 250_000;
const SEED = 17;

interface Operation {
  readonly worker: Worker;
  readonly partition: number;
  /** The second of its pair. */
  readonly isLast: boolean;
}

/** A worker and the gateway beside it. */
interface Worker {
  readonly load: EventLoop;
  readonly gateway: EventLoop;
}

/** What is gathered for each addressee until the end of a turn. */
class Outgoing<To> {
  #gathered = new Map<To, Operation[]>();

  constructor(loop: EventLoop, send: (to: To, operations: readonly Operation[]) => void) {
    loop.onTurn(() => {
      if (this.#gathered.size === 0) return;
      const gathered = this.#gathered;
      this.#gathered = new Map();
      for (const [to, operations] of gathered) send(to, operations);
    });
  }

  add(to: To, operation: Operation): void {
    const known = this.#gathered.get(to);
    if (known === undefined) this.#gathered.set(to, [operation]);
    else known.push(operation);
  }
}

/** A home with its partitions: one batch of each is under way at a time. */
class Home {
  readonly loop: EventLoop;
  readonly #waiting = new Map<number, Operation[]>();
  readonly #underWay = new Set<number>();

  constructor(private readonly cluster: Simulated) {
    const { costs } = cluster;
    this.loop = cluster.process(costs.home.turn);
    this.loop.onTurn(() => this.#write());
  }

  /** Each batch's answers leave when it is there: a message to each gateway. */
  #answer(operations: readonly Operation[]): void {
    const { gateway } = this.cluster.costs;
    const answers = new Map<Worker, Operation[]>();
    for (const operation of operations) {
      const known = answers.get(operation.worker);
      if (known === undefined) answers.set(operation.worker, [operation]);
      else known.push(operation);
    }
    for (const [worker, answered] of answers)
      this.cluster.send(worker.gateway, gateway.message + gateway.operation * answered.length, () =>
        this.cluster.answered(worker, answered),
      );
  }

  /** A link does so many at once, then the event loop turns. */
  take(operations: readonly Operation[]): void {
    for (const operation of operations.slice(0, PIECE)) {
      const waiting = this.#waiting.get(operation.partition);
      if (waiting === undefined) this.#waiting.set(operation.partition, [operation]);
      else waiting.push(operation);
    }
    const left = operations.slice(PIECE);
    if (left.length > 0)
      this.loop.put(this.cluster.costs.home.operation * Math.min(PIECE, left.length), () => this.take(left));
  }

  #write(): void {
    const most = Math.floor(BATCH_ROWS / this.cluster.costs.store.rows);
    for (const [partition, waiting] of [...this.#waiting]) {
      if (this.#underWay.has(partition)) continue;
      const operations = waiting.slice(0, most);
      if (waiting.length > most) this.#waiting.set(partition, waiting.slice(most));
      else this.#waiting.delete(partition);
      this.#underWay.add(partition);
      this.cluster.write(this.loop, operations, () => {
        this.#underWay.delete(partition);
        this.#answer(operations);
      });
    }
  }
}

interface Counted {
  readonly pairs: number;
  readonly batches: number;
  readonly bytes: number;
  readonly listed: number;
  readonly homes: readonly number[];
  readonly gateways: readonly number[];
  readonly store: number;
  readonly storeBusy: number;
}

/** A cluster under as much load as its workers can have open: pairs of one queue, each operation answered when the store has it. */
export class Simulated {
  readonly time = new VirtualTime();
  readonly #shared: Machine | undefined;
  readonly #map: PartitionMap;
  readonly #homes: readonly Home[];
  readonly #homeOf: readonly (Home | undefined)[];
  readonly #store: EventLoop;
  readonly #workers: readonly Worker[];
  readonly #random = new Random(SEED);
  readonly #requests = new Map<Worker, Outgoing<Home>>();
  readonly #asked = new Map<Worker, Operation[]>();
  #pairs = 0;
  #batches = 0;
  #bytes = 0;
  #listed = 0;

  constructor(
    readonly costs: Costs,
    private readonly shape: Shape,
  ) {
    const { homes, gateways, partitions, spread, cores } = shape;
    this.#shared = cores === undefined ? undefined : new Machine(this.time, cores);
    this.#map = new PartitionMap(partitions, new Map([[QUEUE, { group: QUEUE, spread }]]));
    this.#store = this.process(costs.store.turn, costs.store.flush);
    this.#homes = Array.from({ length: homes }, () => new Home(this));
    this.#homeOf = shape.evenly ? this.#sharedOut() : this.#wanted();
    this.#workers = Array.from({ length: gateways }, () => this.#worker());
  }

  /** With a core of its own, if it does not share all that there are. */
  process(turn: number, after = 0): EventLoop {
    return new EventLoop(this.#shared ?? new Machine(this.time, 1), turn, after);
  }

  send(to: EventLoop, cost: number, act: () => void): void {
    this.time.schedule(this.time.now + this.costs.latency, () => to.put(cost, act));
  }

  /** A batch to the store and its answer back. */
  write(from: EventLoop, operations: readonly Operation[], done: () => void): void {
    const { store, home } = this.costs;
    const rows = operations.length * store.rows;
    this.#batches += 1;
    this.#bytes += store.bytesOfBatch + rows * store.bytesOfRow;
    this.send(this.#store, store.batch + store.row * rows, () => this.send(from, home.batch, done));
  }

  answered(worker: Worker, operations: readonly Operation[]): void {
    this.send(worker.load, this.costs.load.operation * operations.length, () => {
      for (const { partition, isLast } of operations) {
        if (isLast) this.#pairs += 1;
        this.#ask(worker, isLast ? this.#first(worker) : { worker, partition, isLast: true });
      }
    });
  }

  run(): Load {
    for (const worker of this.#workers)
      worker.load.put(0, () => {
        for (let open = 0; open < this.shape.inFlight; open++) this.#ask(worker, this.#first(worker));
      });
    this.#keepRegistry();
    this.#until(WARM_UP);
    const before = this.#counted();
    this.#until(WARM_UP + WINDOW);
    return this.#loadSince(before);
  }

  #until(end: number): void {
    while (this.time.now < end && this.time.step());
  }

  #worker(): Worker {
    const { load, gateway } = this.costs;
    const worker: Worker = { load: this.process(load.turn), gateway: this.process(gateway.turn) };
    const requests = new Outgoing<Home>(worker.gateway, (home, operations) =>
      this.send(home.loop, this.costs.home.operation * Math.min(PIECE, operations.length), () => home.take(operations)),
    );
    this.#requests.set(worker, requests);
    // What a worker says in one turn travels in one message.
    worker.load.onTurn(() => {
      const asked = this.#asked.get(worker) ?? [];
      if (asked.length === 0) return;
      this.#asked.set(worker, []);
      this.send(worker.gateway, gateway.operation * asked.length, () => {
        for (const operation of asked) {
          const home = this.#homeOf[operation.partition];
          if (home === undefined) throw new Error(`partition ${operation.partition} has no home`);
          requests.add(home, operation);
        }
      });
    });
    return worker;
  }

  #first(worker: Worker): Operation {
    const key = `customer-${Math.floor(this.#random.next() * this.shape.keys)}`;
    return { worker, partition: this.#map.of(QUEUE, key), isLast: false };
  }

  #ask(worker: Worker, operation: Operation): void {
    const asked = this.#asked.get(worker);
    if (asked === undefined) this.#asked.set(worker, [operation]);
    else asked.push(operation);
  }

  /** As members do it: everybody computes it from the same listing. */
  #wanted(): readonly (Home | undefined)[] {
    const { partitions } = this.shape;
    const members = this.#homes.map((_, at) => ({
      id: `member-${at}`,
      name: `member-${at}`,
      address: '',
      weight: 1,
      isLeaving: false,
      format: 1,
    }));
    const wanted = new WantedHomes(partitions, members);
    return Array.from({ length: partitions }, (_, partition) => this.#homes[Number(wanted.of(partition)?.slice(7))]);
  }

  #sharedOut(): readonly (Home | undefined)[] {
    const shares = this.#homes.map((home) => ({ home, parts: 0 }));
    const homeOf = new Array<Home | undefined>(this.shape.partitions).fill(this.#homes[0]);
    for (const partition of this.#map.all(QUEUE)) {
      const share = shares.reduce((best, one) => (one.parts < best.parts ? one : best));
      share.parts += this.#map.partsIn(QUEUE, partition).length;
      homeOf[partition] = share.home;
    }
    return homeOf;
  }

  /** Members list each other, gateways look where homes are; each at a moment of its own. */
  #keepRegistry(): void {
    const { homes, gateways, registryInStore } = this.shape;
    const { registry } = this.costs;
    const listing = registry.storeOfMember * homes;
    for (const { loop } of this.#homes)
      this.#each(LISTED_EVERY, () => {
        const answer = () => this.send(loop, registry.listing + registry.ofMember * homes, () => undefined);
        if (!registryInStore) return answer();
        this.#listed += listing;
        this.#bytes += registry.bytesOfMember * homes;
        this.send(this.#store, listing, answer);
      });
    for (let at = 0; at < gateways; at++)
      this.#each(LOOKED_EVERY, () => {
        if (registryInStore) this.send(this.#store, registry.storeOfGateway, () => undefined);
      });
  }

  #each(every: number, act: () => void): void {
    const next = (at: number): void =>
      this.time.schedule(at, () => {
        act();
        next(at + every);
      });
    next(this.#random.next() * every);
  }

  #counted(): Counted {
    return {
      pairs: this.#pairs,
      batches: this.#batches,
      bytes: this.#bytes,
      listed: this.#listed,
      homes: this.#homes.map(({ loop }) => loop.used),
      gateways: this.#workers.map(({ gateway }) => gateway.used),
      store: this.#store.used,
      storeBusy: this.#store.busy,
    };
  }

  #loadSince(before: Counted): Load {
    const after = this.#counted();
    const pairs = after.pairs - before.pairs;
    const homes = after.homes.map((used, at) => used - (before.homes[at] ?? 0));
    const gateways = after.gateways.map((used, at) => used - (before.gateways[at] ?? 0));
    const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
    return {
      rate: (pairs * 1e6) / WINDOW,
      home: Math.min(1, Math.max(...homes) / WINDOW),
      gateway: Math.min(1, Math.max(...gateways) / WINDOW),
      // What was begun in it may end after it.
      store: Math.min(1, (after.storeBusy - before.storeBusy) / WINDOW),
      registry: (after.listed - before.listed) / WINDOW,
      link: ((after.bytes - before.bytes) * 1e6) / WINDOW / this.costs.network,
      ofPair: {
        home: sum(homes) / pairs,
        busiestHome: Math.max(...homes) / pairs,
        gateway: sum(gateways) / pairs,
        store: (after.store - before.store) / pairs,
      },
      batchesOfPair: (after.batches - before.batches) / pairs,
    };
  }
}
