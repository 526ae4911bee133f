/** One simulated cluster: three members with real cores, a store and a registry with every fault, and workers. */
import { PartitionMap } from '../../src/cluster/partitions/partition-map.js';
import { withPin } from '../../src/cluster/partitions/pins.js';
import { amend } from '../../src/cluster/store/amend.js';
import type { ClusterRecord } from '../../src/cluster/store/cluster-store.js';
import { FORMAT } from '../../src/cluster/store/format.js';
import type { AwaitAnswer, CoordinatorSettings, Refusal } from '../../src/coordinator.js';
import { settings } from '../support/builders.js';

import { FakeRegistryEngine } from '../support/cluster/fake-registry.js';
import type { Fault } from '../support/cluster/fake-wire.js';
import { AfterLedger, Follower, Successor } from './cluster-afters.js';
import { askAnybody, type ClientWorld, ClusterProducer, Consumer, Locker } from './cluster-clients.js';
import { WatchedEngine } from './cluster-engine.js';
import { FallBacks } from './cluster-fall-backs.js';
import { FlowLedger, Forwarder, Receiver } from './cluster-flows.js';
import { ClusterLedger } from './cluster-ledger.js';
import { ClusterNetwork } from './cluster-network.js';
import { type Mutation, SimProcess } from './cluster-process.js';
import { WorldTime } from './durable-time.js';
import { Career, LeaderLedger, type LeaderWorld } from './leaders.js';
import { Chance } from './random.js';

const PARTITIONS = 4;
const MEMBERS = ['a', 'b', 'c'] as const;
const LOCKS = ['locks-0', 'locks-1', 'locks-2'];
/** In use half of the time: in the other half they can be routed anew. */
const BURSTS = ['bursts-0', 'bursts-1'];
/** ms */
const BURST = 4_000;
interface Place {
  readonly group?: string;
  readonly spread?: number;
}

/** Of a group of others, and over several parts. */
const PLACES: readonly Place[] = [
  { group: 'items-0' },
  { group: 'locks-1' },
  { spread: 1 },
  { spread: 2 },
  { spread: 4 },
];
const ITEMS = ['items-0', 'items-1', 'items-2'];
/** To which Acks of items send follow-ups: groups of their own, which remember nothing. */
const NEXT = ['next-0', 'next-1', 'next-2'];
/** That is routed anew, though never spread: who takes from it asks one partition. */
const MOVING = 'next-2';
/** Items of which each waits for one of `ITEMS`: groups of their own. */
const AFTER = ['after-0', 'after-1'];
const GROUPED: readonly Place[] = [{ group: 'items-0' }, { group: 'locks-1' }, { spread: 1 }];
const GROUPS = ['group-0', 'group-1', 'group-2'];
const BUSY_MS = 60_000;
/** Longer than whatever may still be going on. */
const QUIET_MS = 60_000;
/** Lines that a failure shows. */
const LAST_LINES = 400;

export interface ClusterOutcome {
  readonly violations: readonly string[];
  readonly lines: readonly string[];
  readonly grants: number;
  readonly takenOver: number;
  readonly items: number;
  readonly finished: number;
  readonly excused: number;
  /** Terms that somebody worked in, those that followed one of another home, and those that were handed over. */
  readonly terms: number;
  readonly termsTakenOver: number;
  readonly termsHandedOver: number;
  readonly calls: number;
  /** How often homes were recounted. */
  readonly recounts: number;
  readonly forwarded: number;
  /** Partitions that were opened with rows that were read ahead. */
  readonly usedAhead: number;
  readonly deeds: number;
  /** Partitions that people moved. */
  readonly pinned: number;
  /** Queues that people routed anew, and those that were in use. */
  readonly rerouted: number;
  readonly inUse: number;
  /** Follow-ups that arrived in other groups. */
  readonly flows: number;
  /** Items that waited for one of another group and are done. */
  readonly afters: number;
}

let streams = 0;

export class ClusterSimulation {
  readonly #time = new WorldTime();
  readonly #chance: Chance;
  readonly #store: WatchedEngine;
  readonly #registry: FakeRegistryEngine;
  readonly #map = new PartitionMap(PARTITIONS, new Map());
  readonly #ledger: ClusterLedger;
  readonly #leaders: LeaderLedger;
  readonly #flows: FlowLedger;
  readonly #afters: AfterLedger;
  readonly #network: ClusterNetwork;
  readonly #clients: ClientWorld;
  readonly #settings: CoordinatorSettings;
  readonly #processes = new Map<string, SimProcess>();
  readonly #fallBacks: FallBacks;
  readonly #violations: string[] = [];
  readonly #lines: string[] = [];
  readonly #fallsBack: boolean;
  #isHealthy = false;
  #deeds = 0;
  #pinned = 0;
  #rerouted = 0;
  #inUse = 0;
  #recounts = 0;
  /** Changes that are never lost: a guard that was never there is that of a store that was emptied. */
  #firstClaims = 0;

  constructor(
    seed: number,
    /** A mutation, which has to be found out. */
    private readonly mutation?: Mutation,
  ) {
    this.#chance = new Chance(seed);
    const time = this.#time;
    const clock = { now: () => time.now, wall: () => time.wall, after: time.after.bind(time) };
    this.#registry = new FakeRegistryEngine(clock);
    this.#store = new WatchedEngine(clock, this.#registry, (what) => this.#broken(what));
    // In every other world nothing that was answered may be lost, whatever else happens.
    this.#fallsBack = this.#chance.in100(50);
    const partitionOf = (queue: string) => this.#map.of(queue, '');
    this.#ledger = new ClusterLedger(
      () => time.now,
      partitionOf,
      (what) => this.#broken(what),
    );
    this.#leaders = new LeaderLedger(
      () => time.now,
      (group) => this.#ledger.excusesOf(group),
      (what) => this.#broken(what),
    );
    this.#flows = new FlowLedger(
      (queue) => this.#ledger.excusesOf(queue),
      (what) => this.#broken(what),
      new Set([MOVING]),
    );
    this.#afters = new AfterLedger(
      (queue) => this.#ledger.excusesOf(queue),
      (what) => this.#broken(what),
    );
    const all = () => [...this.#processes.values()];
    this.#network = new ClusterNetwork(time, this.#chance, (id) => all().find((process) => process.is(id)));
    const policy = { durable: true, lease: 2_000, wait: 1_000, retry: RETRY };
    const queues = Object.fromEntries([...LOCKS, ...BURSTS, ...ITEMS, ...AFTER].map((name) => [name, policy]));
    const next = Object.fromEntries(NEXT.map((name) => [name, { ...policy, resultTtl: 0 }]));
    // In some worlds what is on its way fills the memory (S624).
    const limits = { payloadMemoryBytes: new Chance(seed + 1).in100(30) ? 4_000 : 1_000_000_000 };
    this.#settings = settings({ queues: { ...queues, ...next }, limits });
    this.#clients = {
      time,
      chance: this.#chance,
      ledger: this.#ledger,
      afters: this.#afters,
      network: this.#network,
      isBusy: () => Math.floor(time.now / BURST) % 2 === 0,
      anybody: () => this.#anybody(),
      isStopping: false,
    };
    this.#fallBacks = new FallBacks(
      this.#store,
      PARTITIONS,
      () => time.now,
      all,
      (partition, why) => {
        this.#note(`partition ${partition} is excused: ${why}`);
        this.#ledger.excuse(partition);
      },
    );
  }

  async run(): Promise<ClusterOutcome> {
    this.#store.record(RECORD);
    for (const name of MEMBERS) this.#start(name);
    this.#startClients();
    this.#time.after(5_000, () => {
      this.#firstClaims = this.#store.changes;
      this.#trouble();
      if (!this.#fallsBack) this.#reroute();
    });
    await this.#pass(BUSY_MS);
    this.#heal();
    this.#clients.isStopping = true;
    await this.#pass(QUIET_MS);
    if (this.#violations.length === 0) await this.#checkEnd();
    const { grants, takenOver, items, finished, excused } = this.#ledger;
    const { terms, takenOver: termsTakenOver, handedOver: termsHandedOver } = this.#leaders;
    const { calls, forwarded } = this.#network;
    const outcome = {
      grants,
      takenOver,
      items,
      finished,
      excused,
      terms,
      termsTakenOver,
      termsHandedOver,
      calls,
      recounts: this.#recounts,
      forwarded,
      usedAhead: this.#store.usedAhead,
      deeds: this.#deeds,
      pinned: this.#pinned,
      rerouted: this.#rerouted,
      inUse: this.#inUse,
      flows: this.#flows.count,
      afters: this.#afters.count,
    };
    for (const process of this.#processes.values()) process.crash();
    return { violations: this.#violations, lines: this.#lines, ...outcome };
  }

  async #pass(ms: number): Promise<void> {
    const end = this.#time.now + ms;
    while (this.#violations.length === 0 && this.#time.step(end)) {
      await new Promise(setImmediate);
      this.#fallBacks.look();
    }
  }

  #start(name: string): void {
    this.#note(`${name} starts`);
    const process = new SimProcess(name, {
      time: this.#time,
      chance: this.#chance,
      store: this.#store,
      registry: this.#registry,
      settings: this.#settings,
      record: this.#store.recordNow ?? RECORD,
      partitions: PARTITIONS,
      mutation: this.mutation,
      connect: (from, home) => this.#network.connect(from, home),
      handedOver: (...told) => this.#network.handedOver(...told),
      tells: (...told) => this.#network.tells(...told),
      note: (line) => this.#note(line),
      broken: (what) => this.#broken(what),
      recounted: () => {
        this.#recounts += 1;
      },
    });
    for (const { wire } of [process.store, process.registry]) wire.fault = ({ does }) => this.#fault(process, does);
    this.#processes.set(name, process);
  }

  #startClients(): void {
    for (const queue of LOCKS)
      for (let i = 0; i < 3; i++) new Locker(this.#clients, `locker${i}`, queue, ['b']).start();
    for (const queue of BURSTS)
      for (let i = 0; i < 3; i++) new Locker(this.#clients, `burst${i}`, queue, ['b', 'c'], true).start();
    for (const queue of ITEMS) {
      for (const key of ['x', 'y']) new ClusterProducer(this.#clients, queue, key).start();
      new Consumer(this.#clients, 'consumer', queue).start();
      new Forwarder(this.#clients, 'forwarder', queue, this.#flows, NEXT).start();
    }
    for (const queue of NEXT)
      for (let i = 0; i < 2; i++) new Receiver(this.#clients, `receiver${i}`, queue, this.#flows).start();
    for (const queue of AFTER) {
      new Follower(this.#clients, queue, ITEMS, this.#afters).start();
      for (let i = 0; i < 2; i++) new Successor(this.#clients, `successor${i}`, queue, this.#afters).start();
    }
    const { time, chance } = this.#clients;
    const world: LeaderWorld = {
      time,
      chance,
      nextStream: () => {
        streams += 1;
        return `stream ${streams}`;
      },
      ask: (group, send, leaves, hear) => askAnybody(this.#clients, { queue: group, key: '' }, send, leaves, hear),
    };
    for (const group of GROUPS)
      for (let i = 0; i < 3; i++) new Career(world, this.#leaders, `worker${i}`, group).start();
  }

  #fault(process: SimProcess, does: string): Fault {
    const chance = this.#chance;
    if (this.#isHealthy) return { there: chance.int(0, 2), back: chance.int(0, 2) };
    // The answer is an await: the process may be stopped in it.
    if (chance.int(0, 2_999) === 0) this.#freeze(process);
    const lot = chance.int(0, 399);
    const way = { there: chance.int(0, 3), back: chance.int(0, 3) };
    if (lot === 0) return { ...way, lost: 'request' };
    if (lot === 1) return { ...way, lost: 'answer' };
    if (lot === 2) return { ...way, refused: 'full' };
    // A session that begins twice would make one live that is dead, which no registry does.
    if (lot === 3 && does !== 'join') return { ...way, again: chance.int(0, 3_000) };
    if (lot > 3 && lot < 8) return { there: chance.int(0, 2_500), back: chance.int(0, 1_000) };
    return way;
  }

  #trouble(): void {
    if (this.#isHealthy) return;
    this.#deeds += 1;
    this.#deed();
    this.#time.after(this.#chance.int(300, 4_000), () => this.#trouble());
  }

  #deed(): void {
    const chance = this.#chance;
    const process = this.#processes.get(chance.of(...MEMBERS));
    const lot = chance.int(0, 23);
    if (lot >= 20) this.#move(lot === 23);
    else if (lot < 4) this.#fallBack(this.#fallsBack ? chance.of(0, 1, 5, 20, 100, 200) : 0);
    else if (process === undefined || process.isDead) return;
    else if (lot < 7) this.#crash(process);
    else if (lot < 10) this.#freeze(process);
    else if (lot < 13) this.#cut(process);
    else if (lot < 15) this.#cutLink(process.name);
    else if (lot < 17) this.#leave(process);
    else if (lot === 17) this.#endSessions(process);
    else if (lot === 18) this.#registry.late = chance.int(-2_000, 3_000);
    else this.#cutLink(process.name);
  }

  #fallBack(most: number): void {
    const lost = Math.min(most, Math.max(0, this.#store.changes - this.#firstClaims));
    this.#note(`the store falls back by ${lost}`);
    this.#fallBacks.fallBack(lost);
    if (this.#chance.in100(30)) this.#registry.endAll();
  }

  #crash(process: SimProcess): void {
    this.#note(`${process.name} is killed`);
    process.crash();
    this.#time.after(this.#chance.int(0, 5_000), () => this.#start(process.name));
  }

  #freeze(process: SimProcess): void {
    const ms = this.#chance.int(0, 10_000);
    this.#note(`${process.name} is stopped for ${ms} ms`);
    process.freeze(ms);
  }

  #cut(process: SimProcess): void {
    const chance = this.#chance;
    const ms = chance.int(100, 7_000);
    const what = chance.of('requests', 'answers', 'both');
    const wires = chance.of([process.store.wire, process.registry.wire], [process.store.wire], [process.registry.wire]);
    this.#note(`${process.name} loses ${what} of ${wires.length} for ${ms} ms`);
    process.disturbed(ms);
    for (const wire of wires) wire.cut = what;
    this.#time.after(ms, () => {
      for (const wire of wires) wire.cut = undefined;
    });
  }

  #cutLink(from: string): void {
    const way = `${from}>${this.#chance.of(...MEMBERS)}`;
    this.#network.cuts.add(way);
    this.#time.after(this.#chance.int(100, 5_000), () => this.#network.cuts.delete(way));
  }

  #leave(process: SimProcess): void {
    if (process.isEnding) return;
    this.#note(`${process.name} leaves`);
    process.isEnding = true;
    process.disturbed();
    void process.member.leave(10_000).then(() => {
      this.#note(`${process.name} has left`);
      process.crash();
      this.#time.after(this.#chance.int(0, 2_000), () => this.#start(process.name));
    });
  }

  /** A person moves a partition, by way of any member, or several people at once, or takes it back; or does, and the member dies. */
  #move(isFatal: boolean): void {
    const chance = this.#chance;
    const by = this.#anybody();
    if (by === undefined) return;
    const partition = chance.int(0, PARTITIONS - 1);
    for (let people = chance.of(1, 1, 2); people > 0; people--)
      this.#pin(by, partition, chance.of(...MEMBERS, undefined));
    const target = this.#processes.get(chance.of(...MEMBERS));
    if (!isFatal || target === undefined) return;
    this.#time.after(chance.int(0, 600), () => {
      if (!target.isDead && !this.#isHealthy) this.#crash(target);
    });
  }

  #pin({ store, clock }: SimProcess, partition: number, name: string | undefined): void {
    this.#note(`partition ${partition} is moved to ${name ?? 'anywhere'}`);
    // A person asks over the network, when it suits them.
    clock.after(this.#chance.int(0, 50), () => {
      amend(store, (record, at) => withPin(record, partition, name === undefined ? undefined : { name, at })).then(
        () => (this.#pinned += 1),
        (error: unknown) => this.#note(`not moved: ${String(error)}`),
      );
    });
  }

  /** A person routes a queue anew, or two do at once; and the member by way of which it is asked may die meanwhile. */
  #reroute(): void {
    if (this.#isHealthy) return;
    const chance = this.#chance;
    for (let people = chance.of(1, 1, 2); people > 0; people--) {
      const by = this.#anybody();
      const at = chance.int(0, BURSTS.length);
      const queue = BURSTS[at] ?? MOVING;
      const places = at < BURSTS.length ? PLACES : GROUPED;
      if (by !== undefined) this.#route(by, queue, places[chance.int(0, places.length - 1)] ?? {});
    }
    this.#time.after(chance.int(500, 2_500), () => this.#reroute());
  }

  #route(by: SimProcess, queue: string, place: Place): void {
    this.#note(`${queue} is to have ${JSON.stringify(place)}, by way of ${by.name}`);
    const { group, spread } = place;
    by.rerouting.route({ queue, group, spread, acceptLoss: false }).then(
      (result) => {
        if (result.ok && result.value.isChanged) this.#rerouted += 1;
        if (!result.ok && result.refusal.kind === 'not_possible') this.#inUse += 1;
        this.#note(`${queue}: ${JSON.stringify(result)}`);
      },
      (error: unknown) => this.#note(`${queue} is not routed: ${String(error)}`),
    );
  }

  #endSessions(process: SimProcess): void {
    this.#note(`sessions end early`);
    process.disturbed();
    if (this.#chance.in100(50)) this.#registry.endAll();
    else this.#registry.endSession(process.member.member.id);
  }

  #heal(): void {
    this.#note('all is well from now on');
    this.#isHealthy = true;
    this.#network.isGood = true;
    this.#network.cuts.clear();
    this.#registry.late = 0;
    for (const { store, registry } of this.#processes.values()) {
      store.wire.cut = undefined;
      registry.wire.cut = undefined;
    }
  }

  async #checkEnd(): Promise<void> {
    const live = [...this.#processes.values()].filter(({ isDead }) => !isDead);
    if (live.length !== MEMBERS.length) this.#broken(`${live.length} members live at the end`);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const homes = live.filter(({ member }) => member.isHere(partition));
      if (homes.length !== 1)
        this.#broken(`partition ${partition} has ${homes.length} homes at the end: ${this.#why(partition)}`);
    }
    const record = this.#store.recordNow;
    if (record?.rerouting !== undefined) this.#broken(`${record.rerouting.queue} is on its way at the end`);
    for (const { name, routes } of live)
      if (routes.version !== record?.version) this.#broken(`${name} follows routes ${routes.version} at the end`);
    const pins = record?.pins ?? {};
    for (const [partition, { name }] of Object.entries(pins)) {
      const home = live.find(({ member }) => member.isHere(Number(partition)));
      if (home?.name !== name) this.#broken(`partition ${partition} is at ${home?.name}, and was moved to ${name}`);
    }
    const most = Math.max(...MEMBERS.map((one) => Object.values(pins).filter(({ name }) => name === one).length));
    const shares = live.map(
      ({ member }) => Array.from({ length: PARTITIONS }, (_, p) => member.isHere(p)).filter(Boolean).length,
    );
    if (Math.max(...shares) > Math.max(most, Math.ceil(PARTITIONS / MEMBERS.length)))
      this.#broken(`partitions are shared out as ${shares}`);
    for (const group of GROUPS) if (!this.#leaders.wasLed(group, QUIET_MS / 2)) this.#broken(`nobody leads ${group}`);
    for (const name of this.#flows.left) this.#broken(`${name} was acknowledged, and never arrived`);
    for (const name of [...this.#afters.left, ...this.#ledger.left]) {
      const state = await this.#stateOf(name);
      if (state !== 'done') this.#broken(`${name} was accepted, and is ${state}`);
    }
  }

  /** Its Ack may have been answered to nobody. */
  async #stateOf(name: string): Promise<string> {
    const [queue = '', itemId = ''] = name.split('/');
    const partition = this.#map.of(queue, '');
    const home = [...this.#processes.values()].find(({ member }) => member.isHere(partition))?.member.home(partition);
    let state = 'not answered';
    const answer = (told: AwaitAnswer) => {
      state = told.state;
      return true;
    };
    const refuse = ({ kind }: Refusal) => {
      state = kind;
    };
    home?.awaitItem({ queue, itemId, wait: 0 }, { answer, refuse });
    await this.#pass(1_000);
    return state;
  }

  #why(partition: number): string {
    return [...this.#processes.values()]
      .map(({ name, member }) => `${name} ${member.standing(partition)} ${member.whyNone(partition)}`)
      .join('; ');
  }

  #anybody(): SimProcess | undefined {
    const live = [...this.#processes.values()].filter(({ isDead }) => !isDead);
    return live[this.#chance.int(0, live.length - 1)];
  }

  #note(line: string): void {
    this.#lines.push(`${this.#time.now.toFixed(0)} ${line}`);
    if (this.#lines.length > LAST_LINES) this.#lines.shift();
  }

  #broken(what: string): void {
    this.#note(`BROKEN ${what}`);
    this.#violations.push(what);
  }
}

const RECORD: ClusterRecord = {
  id: 'simulated',
  partitions: PARTITIONS,
  secret: 's',
  version: 1,
  routes: {},
  format: FORMAT,
};

const RETRY = { initial: 10, max: 100, factor: 2, maxAttempts: 1_000_000, jitter: 'none' } as const;
