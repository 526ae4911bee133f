/** One simulated world: clients, a bad network, an operator, and one coordinator in the middle. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type {
  AwaitAnswer,
  Coordinator,
  CoordinatorSettings,
  Policy,
  QueueView,
  Result,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { ackRequest, acquireRequest, policy, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';
import { Ledger } from '../support/ledger.js';
import { listedQueues } from '../support/listed-queues.js';
import { observed } from '../support/observed.js';
import { EnQueuer, Producer, type Surroundings, Worker } from './clients.js';
import { ItemsLedger } from './items-ledger.js';
import { Network } from './network.js';
import { Chance } from './random.js';

export type MakeCoordinator = (settings: CoordinatorSettings, clock: Clock, seed: number) => Coordinator;

export interface Outcome {
  /** Of everything that was said. */
  readonly hash: string;
  readonly calls: number;
  readonly items: number;
  readonly finished: number;
  readonly turns: number;
  /** Turns that sessions took back. */
  readonly takenBack: number;
}

const QUEUES = ['calls', 'jobs', 'mixed'] as const;
const BUSY_MS = 180_000;
/** Longer than everything that may still be going on when the clients stop. */
const QUIET_MS = 240_000;

export class Simulation {
  readonly #clock = new FakeClock();
  readonly #chance: Chance;
  readonly #hash = createHash('sha256');
  readonly #network: Network;
  readonly #items = new ItemsLedger();
  readonly #ledger: Ledger;
  readonly #coordinator: Coordinator;
  readonly #around: Surroundings;
  #takenBack = 0;

  constructor(make: MakeCoordinator, seed: number) {
    this.#chance = new Chance(seed);
    const policies = Object.fromEntries(QUEUES.map((queue) => [queue, this.#policy()]));
    this.#network = new Network(this.#clock, this.#chance, (line) => this.#say(line));
    this.#ledger = new Ledger((queue) => policy(policies[queue]));
    this.#coordinator = make(settings({ queues: policies, limits: { idleLanes: 3 } }), this.#clock, seed);
    this.#around = {
      clock: this.#clock,
      chance: this.#chance,
      network: this.#network,
      calls: observed(this.#items.watch(this.#coordinator), this.#ledger, this.#clock),
      line: {
        clock: this.#clock,
        chance: this.#chance,
        coordinator: this.#coordinator,
        ledger: this.#ledger,
        items: this.#items,
        log: (line) => this.#say(line),
        tookBack: (turns) => {
          this.#takenBack += turns;
        },
      },
      keys: ['a', 'b', 'c', 'd', 'e'].slice(0, this.#chance.int(1, 5)),
      stopping: false,
    };
  }

  async run(): Promise<Outcome> {
    this.#startClients();
    this.#operate();
    await this.#pass(BUSY_MS);
    await this.#stop();
    await this.#pass(QUIET_MS);
    await this.#takeWhatIsLeft();
    await this.#checkEnd();
    this.#coordinator.close();
    const { answered: calls } = this.#network;
    const { accepted, finished } = this.#items;
    return {
      hash: this.#hash.digest('hex'),
      calls,
      items: accepted.length,
      finished,
      turns: this.#ledger.turns,
      takenBack: this.#takenBack,
    };
  }

  #say(line: string): void {
    this.#hash.update(`${this.#clock.now()} ${line}\n`);
  }

  /** Promises of administration settle in between. */
  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      this.#clock.advance(1_000);
      await undefined;
    }
  }

  #policy(): Partial<Policy> {
    const of = <T>(first: T, ...others: T[]) => this.#chance.of(first, ...others);
    return {
      waitingPerKey: of<Policy['waitingPerKey']>(undefined, 1, 3, 'unlimited', 'unlimited'),
      whenFull: of<Policy['whenFull']>('decline', 'replace'),
      lease: of(1_000, 3_000),
      maxHold: of(undefined, 5_000),
      wait: 2_000,
      onWaitTimeout: of<Policy['onWaitTimeout']>('block', 'block', 'take_over'),
      ticketTtl: of(500, 5_000),
      minInterval: of(0, 0, 200),
      whenTooSoon: of<Policy['whenTooSoon']>('wait', 'decline'),
      rate: of(undefined, undefined, { perSecond: 20, burst: 5 }),
      maxInFlight: of(undefined, undefined, 3),
      retry: {
        ...policy().retry,
        initial: 300,
        max: 5_000,
        maxAttempts: of(3, 10),
        maxCrashes: of(undefined, 2),
        jitter: of('full', 'none'),
      },
      onDeadLetter: of<Policy['onDeadLetter']>('skip', 'park'),
      idempotencyTtl: of(0, 5_000),
      resultTtl: 86_400_000,
      maxWaiting: of(1_000_000, 30),
      maxDeadLetters: of(10_000, 5),
    };
  }

  #startClients(): void {
    for (let i = 0; i < 5; i++) new EnQueuer(`caller${i}`, 'calls', this.#around).start();
    for (let i = 0; i < 2; i++) new Producer(`producer${i}`, 'jobs', this.#around).start();
    for (let i = 0; i < 4; i++) new Worker(`worker${i}`, 'jobs', this.#around).start();
    for (let i = 0; i < 2; i++) new EnQueuer(`mixed-caller${i}`, 'mixed', this.#around).start();
    new Producer('mixed-producer', 'mixed', this.#around).start();
    for (let i = 0; i < 3; i++) new Worker(`mixed-worker${i}`, 'mixed', this.#around).start();
    // Those who vanish are followed by others.
    this.#clock.after(20_000, () => this.#around.stopping || this.#startClients());
  }

  #operate(): void {
    this.#clock.after(this.#chance.int(500, 5_000), () => {
      if (this.#around.stopping) return;
      this.#oneDeed();
      this.#operate();
    });
  }

  #oneDeed(): void {
    const { admin } = this.#coordinator;
    const queue = this.#chance.of(...QUEUES);
    const [key = 'a'] = this.#around.keys;
    const deed = this.#chance.int(0, 6);
    this.#say(`operator ${deed} ${queue}`);
    if (deed === 0) this.#clock.stepWall(this.#chance.int(-100_000, 100_000));
    else if (deed === 1) {
      told(admin.ask('pauseQueue', { queue }));
      this.#clock.after(this.#chance.int(100, 3_000), () => told(admin.ask('resumeQueue', { queue })));
    } else if (deed === 2) {
      this.#ledger.claimEndOf(queue, key, 'EvictHolder');
      told(admin.ask('evictHolder', { queue, key }));
    } else if (deed === 3)
      told(
        admin.ask('setLimits', {
          queue,
          change: { rate: undefined, maxInFlight: this.#chance.of<number | 'none'>('none', 1, 3) },
        }),
      );
    else if (deed === 4) told(admin.ask('resumeKey', { queue, key: this.#chance.of('', ...this.#around.keys) }));
    else if (deed === 5) {
      this.#items.redriven(queue);
      told(admin.ask('redrive', { queue, key: undefined, itemIds: [] }));
    } else told(admin.ask('discard', { queue, key, itemIds: [], waiting: this.#chance.in100(20) }));
  }

  /** The clients bring to an end what they began; the network is a good one, and no gate is closed. */
  async #stop(): Promise<void> {
    this.#around.stopping = true;
    this.#network.reliable = true;
    const { admin } = this.#coordinator;
    for (const queue of QUEUES) {
      await admin.ask('resumeQueue', { queue });
      await admin.ask('setLimits', { queue, change: { rate: 'none', maxInFlight: 'none' } });
    }
  }

  /** Dead letters are discarded, keys resumed, and one good worker does the rest. */
  async #takeWhatIsLeft(): Promise<void> {
    const { admin } = this.#coordinator;
    for (let round = 0; round < 200; round++) {
      for (const queue of QUEUES) {
        await admin.ask('discard', { queue, key: undefined, itemIds: [], waiting: false });
        for (const key of ['', ...this.#around.keys]) await admin.ask('resumeKey', { queue, key });
      }
      const call = new Call<{ deliveries: readonly { turn: { queue: string; key: string; token: number } }[] }>();
      this.#around.calls.acquire(acquireRequest({ queues: QUEUES, maxTurns: 100, maxItemsPerTurn: 100 }), call);
      for (const { turn } of call.value.deliveries) {
        const { queue, key, token } = turn;
        this.#around.calls.ack(ackRequest({ queue, key, token }), new Call());
      }
      await this.#pass(1_000);
      if ((await this.#waiting()) === 0) return;
    }
    assert.fail('it does not drain');
  }

  async #waiting(): Promise<number> {
    const queues = await listedQueues(this.#coordinator);
    return queues.reduce((sum, one) => sum + one.waitingCallers + one.waitingItems + one.liveTurns, 0);
  }

  /** Nothing is left, nobody waits, and every accepted item has come to exactly one end. */
  async #checkEnd(): Promise<void> {
    assert.equal(this.#network.open, 0, 'I7: every call was answered');
    for (const view of await listedQueues(this.#coordinator)) this.#checkEmpty(view);
    const { waitingCalls, sessions } = this.#coordinator.stats();
    assert.deepEqual([waitingCalls, sessions], [0, 0]);
    for (const name of this.#items.accepted) {
      const [queue = '', id = ''] = name.split('/');
      const call = new Call<AwaitAnswer>();
      this.#coordinator.awaitItem({ queue, itemId: id, wait: 0 }, call);
      const { state } = call.value;
      const ends = this.#items.isFinished(queue, id) ? ['done'] : ['done', 'superseded', 'discarded'];
      assert.ok(ends.includes(state), `I6: ${name} ends as ${state}`);
    }
  }

  #checkEmpty({ name, waitingCallers, waitingItems, liveTurns, deadLetters, states }: QueueView): void {
    const { INIT: _, ...busy } = states;
    const left = [waitingCallers, waitingItems, liveTurns, deadLetters, ...Object.values(busy)];
    assert.ok(
      left.every((count) => count === 0),
      `${name} is not empty: ${left}`,
    );
  }
}

function told(result: Promise<Result<unknown>>): void {
  void result.then(({ ok }) => assert.ok(ok, 'the operator is not refused'));
}
