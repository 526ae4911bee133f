/** One world of the crash test: a sidecar that dies again and again, and clients that live on. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cleanup, temporaryFolder } from '../cli/keyturn-process.js';
import { Chance } from '../sim/random.js';
import { CrashingSidecar } from './crashing-sidecar.js';
import { type ClientPlan, impatientClient } from './impatient-client.js';
import { Ledger } from './ledger.js';
import { Operator } from './operator.js';
import { Person, QUEUES, type Stage } from './people.js';
import { Settling } from './settling.js';

const MAX_ATTEMPTS = 4;
const SETTINGS = `
default:
  durable: true
  lease: 2s
  wait: 1s
  ticket_ttl: 1s
  result_ttl: 1h
  idempotency_ttl: 1h
  waiting_per_key: unlimited
  retry: { max_attempts: ${MAX_ATTEMPTS}, initial: 5ms, factor: 2, max: 100ms }
queues:
  orders: {}
  bills: { on_dead_letter: park }
`;
const TTL = 2_000;
/** When nothing happens for so long the next crash comes all the same, ms. */
const QUIET = 3_000;

export interface WorldOptions {
  readonly seed: number;
  /** How often the sidecar is killed. */
  readonly crashes: number;
}

export interface Outcome {
  readonly violations: readonly string[];
  /** What happened last, and what the sidecar logged last. */
  readonly tail: readonly string[];
  readonly crashes: number;
  readonly accepted: number;
  readonly acked: number;
  readonly turns: number;
  readonly runs: number;
  readonly told: number;
}

export class World {
  readonly #ledger = new Ledger(MAX_ATTEMPTS);
  readonly #stage: Stage;
  readonly #chance: Chance;
  readonly #people: Person[] = [];
  #clients = 0;
  #crashes = 0;

  private constructor(
    private readonly options: WorldOptions,
    private readonly sidecar: CrashingSidecar,
  ) {
    this.#chance = new Chance(options.seed);
    const keys = Array.from({ length: this.#chance.int(2, 8) }, (_, n) => `key-${n}`);
    this.#stage = { ledger: this.#ledger, queues: QUEUES, keys, isCalm: false };
  }

  static async run(cleanup: Cleanup, options: WorldOptions): Promise<Outcome> {
    const dataDir = join(await temporaryFolder(cleanup), 'data');
    const sidecar = await CrashingSidecar.make(cleanup, { settings: SETTINGS, dataDir });
    return new World(options, sidecar).#run();
  }

  async #run(): Promise<Outcome> {
    await this.sidecar.start();
    this.#populate();
    const operator = new Operator(this.#client('unary', 'operator'), this.#chanceOfItsOwn(), this.#stage);
    await this.#live();
    while (this.#crashes < this.options.crashes) {
      await this.#crashAndReturn();
      await this.#live();
    }
    await this.sidecar.untilServing();
    this.#stage.isCalm = true;
    await Promise.all(this.#people.map((person) => person.rest()));
    const settling = new Settling(this.#client('session', 'settler'), this.#ledger, QUEUES);
    await settling.settle();
    await Promise.all([...this.#people.map((person) => person.end()), operator.end()]);
    await settling.audit();
    const code = await this.sidecar.stop();
    if (code !== 0) this.#ledger.account.broken(`the sidecar ended with ${code}`);
    return this.#outcome();
  }

  #populate(): void {
    this.#person('session', 'a').submits().consumes().calls().calls();
    this.#person('session', 'b').submits().consumes().awaits();
    this.#person('unary', 'c').submits().submitsBlindly().consumes().calls();
    this.#person('session', 'd').repeats().awaits();
  }

  /** Until so much has happened that it is time for the next crash. */
  async #live(): Promise<void> {
    const vanishing = this.#chance.in100(30) ? this.#person('session', 'v').submits().consumes().calls() : undefined;
    await this.#events(this.#chance.in100(20) ? this.#chance.int(1, 30) : this.#chance.int(30, 500));
    await vanishing?.vanish();
  }

  async #crashAndReturn(): Promise<void> {
    await this.#crash();
    // Now and then so long that everybody has to give up what they hold.
    if (this.#chance.in100(5)) await sleep(TTL + 300);
    while (this.#chance.in100(15)) await this.#dieYoung();
    // Clients come while it recovers.
    await this.sidecar.begin();
    this.#ledger.account.note('the sidecar is back');
  }

  async #crash(): Promise<void> {
    this.#crashes += 1;
    this.#ledger.account.note(`CRASH ${this.#crashes}`);
    await this.sidecar.kill();
  }

  /** Killed while it starts, or soon after. */
  async #dieYoung(): Promise<void> {
    void this.sidecar.begin();
    await sleep(this.#chance.int(100, 500));
    await this.#crash();
  }

  /** Resolves when so many more things happened. */
  async #events(count: number): Promise<void> {
    const { account } = this.#ledger;
    const end = account.now + count;
    await new Promise<void>((resolve) => {
      const late = setTimeout(done, QUIET);
      const stop = account.onEvent(() => {
        if (account.now >= end) done();
      });
      function done(): void {
        clearTimeout(late);
        stop();
        resolve();
      }
    });
  }

  #person(transport: ClientPlan['transport'], name: string): Person {
    const own = this.#people.some((person) => person.name === name) ? `${name}${this.#clients}` : name;
    const person = new Person(own, this.#client(transport, own), this.#chanceOfItsOwn(), this.#stage);
    this.#people.push(person);
    return person;
  }

  #client(transport: ClientPlan['transport'], name: string) {
    this.#clients += 1;
    const plan = { name, transport, ttl: TTL };
    return impatientClient(this.sidecar.address, plan, this.#ledger, this.#chanceOfItsOwn());
  }

  #chanceOfItsOwn(): Chance {
    return new Chance(this.#chance.int(0, 2 ** 31));
  }

  #outcome(): Outcome {
    const { account, items, turns } = this.#ledger;
    return {
      violations: account.violations,
      tail: [...account.tail, ...this.sidecar.log.slice(-15)],
      crashes: this.#crashes,
      accepted: items.acceptances,
      acked: items.acks,
      turns: turns.turns,
      runs: turns.runs,
      told: turns.told,
    };
  }
}
