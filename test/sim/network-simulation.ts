/** One simulated world: processes with clients, a sidecar, and between them a network of the worst kind. */
import { createHash } from 'node:crypto';
import type { AwaitAnswer, Limits, Policy } from '../../src/coordinator.js';
import { policy, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { listedQueues } from '../support/listed-queues.js';
import { Client } from './network-client.js';
import { Network } from './network-line.js';
import { LEASES, type Surroundings } from './network-people.js';
import { Server } from './network-server.js';
import { Watch } from './network-watch.js';
import { Process, type ProcessNature, World } from './network-world.js';
import { Chance } from './random.js';

export interface Plan {
  readonly seed: number;
  /** The sidecar is killed and started anew now and then, with nothing left of what it had in memory. */
  readonly restarts: boolean;
}

export interface Outcome {
  /** Of everything that was said. */
  readonly hash: string;
  readonly violations: readonly string[];
  /** What was said last before something was wrong, or at the end. */
  readonly tail: readonly string[];
  readonly runs: number;
  readonly aborts: number;
  readonly settled: number;
  readonly items: number;
  readonly troubles: number;
}

const QUEUES = ['calls', 'jobs'] as const;
const CLIENTS = 3;
const BUSY_MS = 40_000;
/** Longer than everything that may still be going on when people stop. */
const QUIET_MS = 150_000;
/** What is told of a world in which something was wrong: what was said last before, and a little of what came after it. */
const TAIL = 80;
const AFTERWARDS = 10;
const TTLS = [1_000, 2_000, 4_000, 6_000] as const;
/**
 * How wrong clocks of clients may go, and how late timers may be. A holder is told a tenth of its turn's life (at most 2 s)
 * before the end, by its own clock: so clocks may differ by a little less than a tenth in speed.
 */
const DRIFT = 0.08;
const LATENESS_MS = 15;
/** The longest way of a word through a network that works. */
const LATE_WORD_MS = 1_000;

export class NetworkSimulation {
  readonly #world = new World();
  readonly #chance: Chance;
  readonly #hash = createHash('sha256');
  readonly #tail: string[] = [];
  readonly #watch: Watch;
  readonly #network: Network;
  readonly #around: Surroundings;
  readonly #ttl: number;
  readonly #policies: Readonly<Record<string, Partial<Policy>>>;
  readonly #clients: Client[] = [];
  readonly #limits: Partial<Limits>;
  #server: Server;
  #processes = 0;
  #said = 0;
  #brokenAt = Number.POSITIVE_INFINITY;
  #settled = 0;
  #troubles = 0;

  constructor(private readonly plan: Plan) {
    this.#chance = new Chance(plan.seed);
    const log = (line: string) => this.#say(line);
    this.#watch = new Watch(this.#world, log);
    this.#network = new Network(this.#world, this.#chance, log);
    const keys = ['a', 'b', 'c', 'd'].slice(0, this.#chance.int(1, 4));
    this.#around = { watch: this.#watch, keys, slowIn100: this.#chance.of(10, 60), isStopping: false };
    this.#ttl = this.#chance.of(...TTLS);
    this.#policies = { calls: this.#policy(), jobs: this.#policy() };
    // Small ones are reached: then the sidecar reads nothing more from a client that does not read either.
    this.#limits = { unsentBytes: this.#chance.of(4_194_304, 2_000, 300), unreadFor: this.#chance.of(2_000, 30_000) };
    this.#server = this.#startServer(0);
  }

  async run(): Promise<Outcome> {
    for (let at = 0; at < CLIENTS; at++) this.#startClient();
    this.#trouble();
    await this.#world.pass(BUSY_MS);
    await this.#becomeQuiet();
    await this.#drain();
    await this.#end();
    return {
      hash: this.#hash.digest('hex'),
      violations: this.#watch.violations,
      tail: this.#tail,
      runs: this.#watch.runs,
      aborts: this.#watch.aborts,
      settled: this.#settled,
      items: this.#watch.acceptedItems.length,
      troubles: this.#troubles,
    };
  }

  #say(line: string): void {
    const said = `${this.#world.now.toFixed(3)} ${line}`;
    this.#hash.update(`${said}\n`);
    if (this.#said - this.#brokenAt >= AFTERWARDS) return;
    this.#said += 1;
    this.#tail.push(said);
    if (this.#tail.length > TAIL) this.#tail.shift();
    if (this.#watch.violations.length > 0 && this.#brokenAt === Number.POSITIVE_INFINITY) this.#brokenAt = this.#said;
  }

  #policy(): Partial<Policy> {
    const of = <T>(first: T, ...others: T[]) => this.#chance.of(first, ...others);
    return {
      waitingPerKey: of<Policy['waitingPerKey']>(undefined, 1, 'unlimited'),
      lease: of(...LEASES),
      wait: 2_000,
      ticketTtl: of(500, 5_000, 10_000),
      retry: { ...policy().retry, initial: 100, max: 2_000, maxAttempts: of(3, 10) },
      resultTtl: 86_400_000,
    };
  }

  #startServer(startupHold: number): Server {
    const queues = { ...this.#policies, jobs: { ...this.#policies['jobs'], waitingPerKey: 'unlimited' as const } };
    // A clock of its own: what matters between two processes are durations, so one of them may as well be right.
    const process = this.#process('sidecar', { rate: 1, offset: this.#chance.int(0, 1_000_000), lateness: 2 });
    const server = new Server(
      process,
      settings({ queues, startupHold, limits: this.#limits }),
      this.#chance.int(1, 1e9),
      this.#watch,
    );
    this.#network.host = server;
    return server;
  }

  #process(name: string, nature: ProcessNature): Process {
    const process = new Process(name, this.#world, this.#chance, nature);
    process.onCaughtUp = () => this.#watch.caughtUp(process);
    return process;
  }

  #newClient(): Client {
    this.#processes += 1;
    const rate = 1 + this.#chance.of(-1, 1, this.#chance.next() * 2 - 1) * DRIFT;
    const nature = { rate, offset: this.#chance.int(0, 1e9), lateness: LATENESS_MS };
    const process = this.#process(`c${this.#processes}`, nature);
    const chance = new Chance(this.#chance.int(0, 2 ** 31));
    const log = (line: string) => this.#say(line);
    const client = new Client(process, this.#network, chance, this.#around, this.#ttl, log);
    this.#clients.push(client);
    return client;
  }

  #startClient(): void {
    this.#newClient().start();
  }

  #trouble(): void {
    this.#world.at(this.#world.now + this.#chance.int(100, 5_000), () => {
      if (this.#around.isStopping) return;
      this.#troubles += 1;
      this.#oneTrouble();
      this.#trouble();
    });
  }

  #oneTrouble(): void {
    const { lines } = this.#network;
    const [first, ...others] = lines;
    const line = first && this.#chance.of(first, ...others);
    const deed = this.#chance.int(0, 19);
    if (deed <= 6 && line !== undefined) this.#network.cut(line);
    else if (deed <= 9 && line !== undefined) this.#stall(line);
    else if (deed <= 11) this.#stand(this.#anyClient().process);
    else if (deed === 12) this.#replaceClient(this.#anyClient());
    else if (deed === 13) this.#stand(this.#server.process);
    else if (deed === 14) this.#refuse();
    else if (deed === 15) this.#cutAll();
    else if (deed === 16) this.#network.slow(this.#chance.int(500, 5_000));
    else if (deed === 17) this.#evict();
    else if (this.plan.restarts) this.#restart();
  }

  #stall(line: Network['lines'][number]): void {
    const ms = this.#chance.int(100, 8_000);
    this.#say(`stall ${line.client.process.name} ${ms}`);
    this.#network.stall(line, ms);
  }

  #stand(process: Process): void {
    const ms = this.#chance.int(50, this.#chance.of(500, 3_000, 15_000));
    this.#say(`${process.name} stands still for ${ms}`);
    process.stop();
    this.#world.at(this.#world.now + ms, () => {
      this.#say(`${process.name} goes on`);
      process.goOn();
    });
  }

  #refuse(): void {
    const ms = this.#chance.int(100, 6_000);
    this.#say(`refuse for ${ms}`);
    this.#network.refuse(ms);
    if (this.#chance.in100(50)) this.#cutAll();
  }

  #cutAll(): void {
    for (const line of [...this.#network.lines]) this.#network.cut(line);
  }

  #anyClient(): Client {
    const [first, ...others] = this.#clients;
    if (first === undefined) throw new Error('there is always a client');
    return this.#chance.of(first, ...others);
  }

  #replaceClient(client: Client): void {
    this.#say(`${client.process.name} is killed`);
    this.#forget(client);
    client.process.kill();
    this.#network.died(client.process);
    this.#startClient();
  }

  #forget(client: Client): void {
    this.#clients.splice(this.#clients.indexOf(client), 1);
    this.#settled += client.promises.settled;
  }

  /** A holder can be told only afterwards: at once if the network is there, else when it has heard nothing for its ttl. */
  #evict(): void {
    const chance = this.#chance;
    const { process, coordinator } = this.#server;
    // Nobody can ask a sidecar that is down or stands still.
    const isThere = process.state === 'running';
    const queue = chance.of(...QUEUES);
    const key = chance.of('a', ...this.#around.keys);
    void this.#watch.evicts(queue, key, this.#world.now + this.#ttl / (1 - DRIFT) + LATE_WORD_MS, async () => {
      const answer = isThere ? await coordinator.admin.ask('evictHolder', { queue, key }) : undefined;
      return answer?.ok && answer.value.evicted ? answer.value.token : undefined;
    });
  }

  #restart(): void {
    const down = this.#chance.int(1, this.#chance.of(100, 8_000));
    this.#say(`the sidecar is killed, and down for ${down}`);
    const { process } = this.#server;
    if (process.state === 'dead') return;
    process.kill();
    this.#network.died(process);
    this.#watch.memoryLost();
    this.#world.at(this.#world.now + down, () => {
      this.#say('the sidecar is started');
      this.#server = this.#startServer(Math.max(this.#ttl, ...LEASES));
    });
  }

  /** Nothing bad happens any more, nobody begins anything new, and all that was promised is kept. */
  async #becomeQuiet(): Promise<void> {
    this.#around.isStopping = true;
    this.#say('quiet');
    this.#network.heal();
    const end = this.#world.now + QUIET_MS;
    while (this.#world.now < end && this.#clients.some(({ promises }) => promises.open.length > 0)) {
      await this.#world.pass(1_000);
    }
    for (const { process, promises } of this.#clients) {
      for (const what of promises.open) this.#watch.broken(`${process.name}: ${what} hangs`);
    }
  }

  /** One good consumer takes what is left. */
  async #drain(): Promise<void> {
    this.#newClient().consumeWell();
    const left = async () => {
      const queues = await listedQueues(this.#server.coordinator);
      return queues.map(({ waitingItems, waitingCallers, liveTurns }) => waitingItems + waitingCallers + liveTurns);
    };
    for (let round = 0; round < 60; round++) {
      await this.#world.pass(2_000);
      if ((await left()).every((count) => count === 0)) return;
    }
    this.#watch.broken(`it does not drain: ${await left()} are left`);
    for (const queue of QUEUES) {
      for (const key of this.#around.keys) {
        const told = await this.#server.coordinator.admin.ask('explainKey', { queue, key });
        this.#say(`${queue}/${key} ${JSON.stringify(told.ok ? told.value : told.refusal)}`);
      }
    }
  }

  async #end(): Promise<void> {
    this.#checkItems();
    this.#watch.checkOrder();
    for (const client of this.#clients) client.close(1_000);
    await this.#world.pass(60_000);
    for (const { process, promises } of this.#clients) {
      for (const what of promises.open) this.#watch.broken(`${process.name}: ${what} hangs after the close`);
      if (process.pending > 0) this.#watch.broken(`${process.name} has ${process.pending} timers after the close`);
      this.#settled += promises.settled;
    }
    this.#checkServer();
    this.#server.close();
    await this.#world.pass(60_000);
    const { pending } = this.#server.process;
    if (pending > 0) this.#watch.broken(`the sidecar has ${pending} timers after the close`);
    if (this.#world.pending > 0) this.#watch.broken(`${this.#world.pending} events are still to come at the end`);
  }

  #checkServer(): void {
    const stats = this.#server.coordinator.stats();
    if (stats.sessions > 0) this.#watch.broken(`${stats.sessions} sessions are left`);
    if (stats.waitingCalls > 0) this.#watch.broken(`${stats.waitingCalls} calls still wait`);
    if (this.#network.lines.length > 0) this.#watch.broken(`${this.#network.lines.length} lines are left`);
  }

  #checkItems(): void {
    for (const id of this.#watch.acceptedItems) {
      const call = new Call<AwaitAnswer>();
      this.#server.coordinator.awaitItem({ queue: 'jobs', itemId: id, wait: 0 }, call);
      const { state } = call.value;
      if (state !== 'done' && state !== 'dead') this.#watch.broken(`${id} was accepted and is ${state}`);
      if (state === 'done' && !this.#watch.wasHandled(id)) this.#watch.broken(`${id} is done, and nobody did it`);
    }
  }
}
