/** The workers of all languages: one player each, killed now and then and started anew. */
import { appendFileSync } from 'node:fs';
import { candidacy, noteKill } from './leaders.js';
import type { Process } from './ledger-check.js';
import { writeLine } from './ledger-line.js';
import { DURABLE_QUEUE, MEMORY_QUEUE } from './plan.js';
import { type Fields, Player } from './player.js';

/** Turns of a dead worker are somebody else's after this. */
const SESSION_TTL_MS = 4_000;
const CONCURRENCY = 16;
const TAKES_MS = 2;
const STOP_MS = 10_000;

export interface Troubles {
  readonly count: number;
  readonly examples: readonly string[];
}

export class Crew {
  readonly #workers = new Map<string, Player>();
  readonly #generations = new Map<string, number>();
  readonly #processes = new Map<string, Process>();
  readonly #waiters = new Set<() => void>();
  readonly #troubles: string[] = [];
  readonly #killed: Player[] = [];
  #begun = 0;
  #ended = 0;

  constructor(
    private readonly languages: readonly string[],
    private readonly address: string,
    private readonly ledger: string,
    private readonly leaders: string,
    /** Told when a consumer has ended by an error: nothing can come of the test any more. */
    private readonly failed: (why: Error) => void,
  ) {}

  /** Turns that handlers have begun, all processes together. */
  get begun(): number {
    return this.#begun;
  }

  get ended(): number {
    return this.#ended;
  }

  get kills(): number {
    return this.#killed.length;
  }

  /** Errors that consumers told and went on after: expected when workers and sidecars are killed. */
  get troubles(): Troubles {
    return { count: this.#troubles.length, examples: this.#troubles.slice(0, 3) };
  }

  async start(): Promise<void> {
    await Promise.all(this.languages.map((language) => this.#startOne(language)));
  }

  /** One that lives, by chance; the next one when all were killed. */
  async any(dice: number): Promise<Player> {
    for (;;) {
      const living = [...this.#workers.values()];
      const worker = living[Math.floor(dice * living.length)];
      if (worker !== undefined) return worker;
      await this.#change();
    }
  }

  /** Resolves when so many turns have begun. */
  async until(begun: number): Promise<void> {
    while (this.#begun < begun) await this.#change();
  }

  /** As a crash does it; then a new process takes its place. */
  async kill(language: string): Promise<void> {
    const worker = this.#workers.get(language);
    if (worker === undefined) throw new Error(`no worker of ${language} lives`);
    this.#workers.delete(language);
    this.#killed.push(worker);
    // Before the signal: whatever follows from its death comes after this line.
    appendFileSync(this.ledger, writeLine({ kind: 'kill', process: worker.name }));
    noteKill(this.leaders, idOf(worker.name));
    await worker.kill();
    await this.#startOne(language);
  }

  processOf(queue: string, token: number): Process | undefined {
    return this.#processes.get(`${queue}\t${token}`);
  }

  /** Lets all finish what they have. */
  async stop(): Promise<void> {
    const all = [...this.#workers.values()];
    await Promise.all(all.map((worker) => worker.ask('stop', { handle: 'consumer', timeout_ms: STOP_MS })));
    await Promise.all(all.map((worker) => worker.ask('close', { client: 'worker' })));
    await Promise.all(all.map((worker) => worker.end()));
  }

  async #startOne(language: string): Promise<void> {
    const generation = (this.#generations.get(language) ?? 0) + 1;
    this.#generations.set(language, generation);
    const process: Process = { name: `${language} ${generation}`, language };
    const player = new Player(process.name, language, (event) => this.#hear(process, event));
    await player.ask('hello');
    await player.ask('open', {
      client: 'worker',
      address: this.address,
      consumer_id: idOf(process.name),
      session_ttl_ms: SESSION_TTL_MS,
    });
    const work = { takes_ms: TAKES_MS, does: { ack: true }, ledger: this.ledger };
    const queues = [MEMORY_QUEUE, DURABLE_QUEUE];
    await player.ask('consume', { client: 'worker', handle: 'consumer', queues, concurrency: CONCURRENCY, work });
    await player.ask('lead', { client: 'worker', ...candidacy(idOf(process.name), this.leaders) });
    this.#workers.set(language, player);
    this.#changed();
  }

  /** Resolves when a turn has begun, or a worker is there. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  #changed(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  #hear(process: Process, event: Fields): void {
    const { event: kind, queue, token } = event;
    if (kind === 'started') {
      this.#processes.set(`${String(queue)}\t${String(token)}`, process);
      this.#begun += 1;
      this.#changed();
    }
    if (kind === 'ended') this.#ended += 1;
    if (kind === 'trouble') this.#troubles.push(`${process.name}: ${JSON.stringify(event)}`);
    if (kind === 'failed')
      this.failed(new Error(`the consumer or the candidacy of ${process.name} failed: ${JSON.stringify(event)}`));
  }
}

function idOf(name: string): string {
  return name.replace(' ', '-');
}
