/**
 * A world in which the coordinator dies at any moment and begins anew from its disk, which fails, is slow, and is full
 * for a while. What people were told is in a ledger outside, and is compared with what they are told later.
 */
import { createHash } from 'node:crypto';
import type {
  AcquireAnswer,
  AwaitAnswer,
  CoordinatorSettings,
  Policy,
  QueueView,
  Result,
} from '../../src/coordinator.js';
import { ackRequest, acquireRequest, policy, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { listedQueues } from '../support/listed-queues.js';
import { Book, type Kind, type QueueFacts } from './durable-book.js';
import { Caller } from './durable-caller.js';
import { SimulatedDisk } from './durable-disk.js';
import { Items } from './durable-items.js';
import { DurableLeaders, GROUPS } from './durable-leaders.js';
import { Life } from './durable-life.js';
import type { Person } from './durable-person.js';
import { Producer } from './durable-producer.js';
import { WorldTime } from './durable-time.js';
import { Turns } from './durable-turns.js';
import { Worker } from './durable-worker.js';
import type { World } from './durable-world.js';
import { Chance } from './random.js';

export interface DurableOutcome {
  /** Of everything that was said. */
  readonly hash: string;
  readonly lives: number;
  readonly items: number;
  readonly acks: number;
  readonly turns: number;
  /** Turns that were held when the process died, and were the holder's still. */
  readonly survived: number;
  /** Answers that a crash took back, as it may. */
  readonly takenBack: number;
  readonly failedWrites: number;
  /** Terms that began, and processes that kept one of a process before. */
  readonly terms: number;
  readonly keptTerms: number;
  readonly handedOver: number;
  readonly violations: readonly string[];
  readonly tail: readonly string[];
}

const QUEUES = ['flush', 'orders', 'interval', 'count', 'memory'] as const;
type QueueName = (typeof QUEUES)[number];
const KINDS: Readonly<Record<QueueName, Kind>> = {
  flush: 'strict',
  orders: 'strict',
  interval: 'soft',
  count: 'soft',
  memory: 'memory',
};
const BUSY_MS = 40_000;
/** Longer than every lease, delay, session and back-off. */
const QUIET_MS = 40_000;
const FOREVER = 6 * 3_600_000;

export class DurableSimulation implements World {
  readonly time = new WorldTime();
  readonly chance: Chance;
  readonly book: Book;
  readonly items: Items;
  readonly turns: Turns;
  readonly #leaders: DurableLeaders;
  readonly queues: readonly [QueueName, ...QueueName[]];
  readonly keys: readonly [string, ...string[]];
  life: Life | undefined;
  stopping = false;
  readonly mixes: boolean;
  readonly #hash = createHash('sha256');
  readonly #disk: SimulatedDisk;
  readonly #policies: Readonly<Record<string, Partial<Policy>>>;
  readonly #idleLanes: number;
  #lives = 0;
  #standsSince = 0;
  #closedAt = 0;
  readonly #steps: boolean;
  #flushedAtClose: number | undefined;

  constructor(seed: number) {
    this.chance = new Chance(seed);
    this.#steps = this.chance.in100(50);
    // Without the others nothing is written for them, and what may wait does.
    this.queues = this.chance.of<DurableSimulation['queues']>(
      QUEUES,
      QUEUES,
      QUEUES,
      ['count', 'memory'],
      ['interval'],
    );
    this.#disk = new SimulatedDisk(this.time, this.chance);
    const policies = Object.fromEntries(QUEUES.map((queue) => [queue, this.#policy(queue)]));
    const remembers = this.chance.in100(75);
    this.#policies = policies;
    this.#idleLanes = remembers ? 100_000 : 2;
    const facts = new Map(QUEUES.map((name) => [name, factsOf(name, policy(policies[name]), remembers)]));
    this.book = new Book(
      this.time,
      this.#disk,
      facts,
      this.#steps,
      (line) => void this.#hash.update(`${this.time.now} ${line}\n`),
    );
    this.items = new Items(this.book);
    this.turns = new Turns(this.book);
    this.#leaders = new DurableLeaders(this);
    this.mixes = this.chance.in100(70);
    const [first, ...others] = ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, this.chance.int(1, 6));
    this.keys = [first ?? 'a', ...others];
  }

  async run(): Promise<DurableOutcome> {
    this.#begin();
    const people = this.#people();
    for (const person of people) person.start();
    this.#leaders.start();
    this.#trouble();
    this.#operate();
    await this.#pass(BUSY_MS);
    this.stopping = true;
    this.#disk.healthy = true;
    await this.#pass(QUIET_MS);
    const { liveTokens } = this.#disk;
    if (this.book.violations.length === 0)
      this.book.check(liveTokens.length === 0, () => `nobody holds ${liveTokens}, and they live`);
    for (const person of people) person.leave();
    this.#leaders.leave();
    await this.#pass(QUIET_MS);
    if (this.book.violations.length === 0) await this.#end();
    const { violations, tail, disk } = this.book;
    const { terms, keptOn, handedOver } = this.#leaders.ledger;
    return {
      hash: this.#hash.digest('hex'),
      lives: this.#lives,
      items: this.items.all.size,
      acks: this.items.acks,
      turns: this.turns.given,
      survived: this.turns.survived,
      takenBack: this.items.takenBack,
      failedWrites: disk.failures,
      terms,
      keptTerms: keptOn,
      handedOver,
      violations,
      tail,
    };
  }

  #policy(queue: QueueName): Partial<Policy> {
    const of = <T>(first: T, ...others: T[]) => this.chance.of(first, ...others);
    const kind = KINDS[queue];
    return {
      durable: kind !== 'memory',
      durability: queue === 'interval' || queue === 'count' ? queue : 'on_flush',
      flushInterval: queue === 'count' ? of(50, 5_000) : of(20, 50, 400),
      flushCount: of(1, 5, 1_000),
      waitingPerKey: of<Policy['waitingPerKey']>(undefined, 'unlimited', 4),
      lease: of(1_000, 3_000),
      maxHold: of(undefined, undefined, 4_000),
      ticketTtl: of(500, 3_000),
      minInterval: of(0, 0, 0, 100),
      maxInFlight: of(undefined, undefined, 4),
      retry: {
        ...policy().retry,
        initial: 200,
        max: 2_000,
        maxAttempts: of(1_000, 1_000, 3),
        jitter: of('full', 'none'),
      },
      onDeadLetter: of<Policy['onDeadLetter']>('skip', 'park'),
      delivery: of<Policy['delivery']>('at_least_once', 'at_least_once', 'at_least_once', 'at_most_once'),
      idempotencyTtl: of(0, FOREVER),
      resultTtl: FOREVER,
      onDependencyDead: of<Policy['onDependencyDead']>('dead', 'run'),
    };
  }

  /** What a person may change at a restart without losing what was promised. */
  #nextSettings(): CoordinatorSettings {
    const of = <T>(first: T, ...others: T[]) => this.chance.of(first, ...others);
    const queues = Object.entries(this.#policies).map(([queue, part]): [string, Partial<Policy>] => {
      if (this.chance.in100(70)) return [queue, part];
      const waitingPerKey = of<Policy['waitingPerKey']>(undefined, 'unlimited', 1, 4);
      const maxInFlight = of(undefined, 1, 4);
      return [queue, { ...part, waitingPerKey, maxInFlight, minInterval: of(0, 100), maxDeadLetters: of(10_000, 1) }];
    });
    return settings({ queues: Object.fromEntries(queues), limits: { idleLanes: this.#idleLanes } });
  }

  #people(): readonly Person[] {
    const { chance } = this;
    const session = () => chance.in100(40);
    return [
      ...Array.from({ length: 3 }, (_, i) => new Producer(`p${i}`, this, session())),
      ...Array.from({ length: 5 }, (_, i) => new Worker(`w${i}`, this, session())),
      ...Array.from({ length: 3 }, (_, i) => new Caller(`c${i}`, this, session())),
    ];
  }

  async #pass(ms: number): Promise<void> {
    const end = this.time.now + ms;
    while (this.book.violations.length === 0 && this.time.step(end)) await new Promise(setImmediate);
  }

  #begin(): void {
    if (this.life !== undefined) return;
    this.#lives += 1;
    this.book.note(`life ${this.#lives}`);
    this.#flushedAtClose = undefined;
    const life = new Life(
      this.book,
      this.chance,
      this.#nextSettings(),
      () => {
        if (!this.stopping && this.chance.next() < 0.0005) this.#crash('at an answer');
      },
      (unwritten) => {
        if (this.#disk.troubleAt < this.#closedAt - 6_000)
          this.book.check(unwritten === 0, () => `${unwritten} changes are not written when it closes`);
        this.#flushedAtClose = unwritten === 0 ? Number.POSITIVE_INFINITY : undefined;
      },
      !this.mixes,
    );
    this.life = life;
    life.coordinator.recover().then(
      () => {
        this.turns.stoodStill(this.time.now - this.#standsSince);
        this.book.note('ready');
        life.ready = true;
      },
      () => this.life === life && this.#crash('at its start'),
    );
  }

  #crash(why: string): void {
    const { life } = this;
    if (life === undefined) return;
    this.book.note(`crash ${why}`);
    // Of what happened since the last write, and was not ready, nothing is known.
    if (life.ready || life.closing) this.#standsSince = Math.min(this.time.now, this.#disk.appliedAt);
    this.life = undefined;
    this.#disk.kill();
    life.die();
    const flushed = this.#flushedAtClose ?? this.#disk.flushed;
    this.items.crashed(flushed);
    this.turns.crashed(flushed, () => 3_000);
    // A batch that nobody wrote is nobody's.
    this.time.after(this.chance.int(0, 1_500), () => this.#begin());
  }

  #trouble(): void {
    const { chance } = this;
    this.time.after(chance.int(100, 3_000), () => {
      if (this.stopping) return;
      const lot = chance.int(0, 9);
      if (lot < 5) this.#crash('at any moment');
      else if (lot === 5) this.#close();
      else if (lot === 6) {
        this.book.note('disk full');
        this.#disk.fullUntil = this.time.now + chance.int(50, 3_000);
      } else if (lot === 7 && this.#steps) this.time.stepWall(chance.int(-600_000, 600_000));
      else if (lot === 8) {
        this.#disk.contentProblem = 'io';
        this.time.after(chance.int(1, 400), () => {
          this.#disk.contentProblem = undefined;
        });
      } else
        this.#disk.onWrite = () => {
          this.#disk.onWrite = () => undefined;
          this.time.after(chance.int(0, 30), () => this.#crash('at a write'));
        };
      this.#trouble();
    });
  }

  #close(): void {
    const { life } = this;
    if (life === undefined) return;
    this.book.note('close');
    life.ready = false;
    life.closing = true;
    this.#closedAt = this.time.now;
    void life.coordinator.close().then(() => {
      if (this.life === life) this.#crash('after its close');
    });
  }

  #operate(): void {
    this.time.after(this.chance.int(300, 3_000), () => {
      if (this.stopping) return;
      this.#deed();
      this.#operate();
    });
  }

  #deed(): void {
    const { chance, life, book, turns } = this;
    if (life?.ready !== true) return;
    const { admin } = life.coordinator;
    const queue = chance.of(...this.queues);
    const key = chance.of(...this.keys);
    const sent = book.event();
    const told = (result: Promise<Result<unknown>>, then: () => void = () => undefined) =>
      void result.then(({ ok }) => ok && life.alive && then());
    const deed = chance.int(0, 3);
    book.note(`operator ${deed} ${queue} ${key}`);
    if (deed === 0) {
      told(admin.ask('pauseQueue', { queue }), () => turns.paused(queue, sent));
      this.time.after(chance.int(50, 2_500), () => this.#resume(queue));
    } else if (deed === 1) {
      turns.evicting(queue, key, sent);
      told(admin.ask('evictHolder', { queue, key }), () => turns.evicting(queue, key, book.event()));
    } else if (deed === 2) {
      turns.resuming(queue, key, sent);
      told(admin.ask('resumeKey', { queue, key }));
    } else {
      this.items.redriving(queue);
      told(admin.ask('redrive', { queue, key: undefined, itemIds: [] }));
    }
  }

  /** Until it is known that it was done. */
  #resume(queue: string): void {
    const { life, turns, book } = this;
    turns.pausing(queue, false, book.event());
    if (life?.ready !== true) return void this.time.after(100, () => this.#resume(queue));
    void life.coordinator.admin.ask('resumeQueue', { queue }).then(({ ok }) => {
      if (!ok && life.alive) this.time.after(100, () => this.#resume(queue));
      else if (!life.alive) this.#resume(queue);
    });
    // Of a process that dies meanwhile no answer comes.
    this.time.after(1_500, () => life.alive || this.#resume(queue));
  }

  async #end(): Promise<void> {
    const { life, book } = this;
    if (life?.ready !== true) return book.broken('no process is ready at the end');
    await this.#drain(life);
    if (book.violations.length > 0) return;
    book.check(life.open === 0, () => `${life.open} calls have no answer`);
    for (const view of await listedQueues(life.coordinator)) this.#checkEmpty(view);
    await this.#checkItems(life);
    await this.#checkForgotten(life);
  }

  /** Dead letters are discarded, keys resumed, and one good worker does the rest. */
  async #drain({ coordinator }: Life): Promise<void> {
    const { admin } = coordinator;
    for (let round = 0; round < 60; round++) {
      for (const queue of QUEUES) {
        void admin.ask('resumeQueue', { queue });
        void admin.ask('discard', { queue, key: undefined, itemIds: [], waiting: false });
        for (const key of ['', ...this.keys]) void admin.ask('resumeKey', { queue, key });
      }
      const call = new Call<AcquireAnswer>();
      const request = acquireRequest({ queues: QUEUES, maxTurns: 100, maxItemsPerTurn: 100, lease: 20_000 });
      coordinator.acquire(request, call);
      await this.#pass(1_500);
      for (const { turn, items } of call.value.deliveries) {
        const facts = items.flatMap(({ itemId }) => this.items.get(turn.queue, itemId) ?? []);
        this.items.acking(facts, undefined);
        coordinator.ack(ackRequest({ ...turn, result: undefined }), { answer: () => true, refuse: () => undefined });
      }
      await this.#pass(1_500);
      if (this.book.violations.length > 0 || (await isEmpty(coordinator))) return;
    }
    this.book.broken(
      `it does not drain: ${JSON.stringify((await listedQueues(coordinator)).map((one) => [one.name, one.waitingItems, one.waitingCallers, one.liveTurns, one.deadLetters, one.states]))}`,
    );
  }

  async #checkItems({ coordinator }: Life): Promise<void> {
    const { book, items } = this;
    for (const facts of items.all.values()) {
      if (!facts.isKept) continue;
      const call = new Call<AwaitAnswer>();
      coordinator.awaitItem({ queue: facts.queue, itemId: facts.id, wait: 0 }, call);
      await this.#pass(1);
      if (call.open) await this.#pass(2_000);
      if (book.violations.length > 0) return;
      items.found(facts, call.value, { done: true, kept: true });
      const { state } = call.value;
      const may = state === 'done' || (state === 'discarded' && items.mayBeDead(facts));
      book.check(may, () => `${facts.id} ends as ${state}`);
    }
  }

  /** What is remembered is forgotten in the end, on the disk too. */
  async #checkForgotten(life: Life): Promise<void> {
    const { book } = this;
    await this.#pass(2 * FOREVER);
    await this.#pass(10_000);
    const lasting = new Set(['tokens', 'floor', 'leaders']);
    const rows = this.#disk.rows().filter(({ table }) => !lasting.has(table));
    // What a leader has left is kept for the next one, for 30 days.
    const groups = this.#disk.rows().filter(({ table }) => table === 'leaders').length;
    book.check(groups <= GROUPS.length, () => `${groups} groups of leaders are on the disk`);
    book.check(rows.length === 0, () => `left on the disk: ${JSON.stringify(rows.slice(0, 5))}`);
    const tokens = this.#disk.rows().filter((row) => row.table === 'tokens' && row.key !== '').length;
    const most = 8 * QUEUES.length * this.keys.length;
    book.check(tokens <= most, () => `${tokens} tokens are left on the disk`);
    const { waitingCalls, sessions } = life.coordinator.stats();
    book.check(waitingCalls === 0 && sessions === 0, () => `${waitingCalls} calls and ${sessions} sessions are left`);
    book.check(life.clock.pending <= 4, () => `${life.clock.pending} timers are left`);
  }

  #checkEmpty({ name, waitingCallers, waitingItems, liveTurns, deadLetters, states }: QueueView): void {
    const { INIT: _, ...busy } = states;
    const left = [waitingCallers, waitingItems, liveTurns, deadLetters, ...Object.values(busy)];
    this.book.check(
      left.every((count) => count === 0),
      () => `${name} is not empty: ${left}`,
    );
  }
}

async function isEmpty(coordinator: Life['coordinator']): Promise<boolean> {
  const queues = await listedQueues(coordinator);
  return queues.every(({ waitingCallers, waitingItems, liveTurns, deadLetters, states }) => {
    return waitingCallers + waitingItems + liveTurns + deadLetters + states.DELAY + states.PARK === 0;
  });
}

function factsOf(name: QueueName, own: Policy, remembers: boolean): QueueFacts {
  return {
    name,
    kind: KINDS[name],
    lease: own.lease,
    maxHold: own.maxHold,
    flushInterval: own.flushInterval,
    flushCount: name === 'count' ? own.flushCount : Number.POSITIVE_INFINITY,
    ordered: own.retry.maxAttempts >= 1_000 && own.delivery === 'at_least_once',
    parks: own.onDeadLetter === 'park',
    atMostOnce: own.delivery === 'at_most_once',
    dependantsRun: own.onDependencyDead === 'run',
    keepsKeys: own.idempotencyTtl > 0,
    remembers,
  };
}
