/** The mixed test: workers of all languages on the same queues, killed at random, and what the ledger and the sidecar say of it. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Keyturn } from '@keyturn/client';
import { Crew } from './crew.js';
import { judgeLeaders, type LeaderAccount, Operator } from './leaders.js';
import { type Account, checkLedger, type Problem, RULES } from './ledger-check.js';
import { readLedger, writeLine } from './ledger-line.js';
import { type Called, Callers, Submitter } from './load.js';
import { DURABLE_QUEUE, MEMORY_QUEUE, makePlan, type Part, type Plan, TURN_QUEUE, type Wanted } from './plan.js';
import { type Addresses, Sidecar } from './sidecar.js';

/** Besides the rules of the ledger: what the sidecar itself says. */
export const SIDECAR_RULES = ['accepted', 'await', 'acks', 'empty', 'leaders'] as const;
export type SidecarRule = (typeof SIDECAR_RULES)[number];

export interface SidecarProblem {
  readonly rule: SidecarRule;
  readonly what: string;
}

export interface Report {
  readonly account: Account;
  readonly problems: readonly (Problem | SidecarProblem)[];
  readonly called: Called;
  readonly leaders: LeaderAccount;
  readonly kills: number;
  readonly troubles: Crew['troubles'];
}

export const ALL_RULES = [...RULES, ...SIDECAR_RULES] as const;

/** As long as one Await may wait, and how many wait at once. */
const AWAIT_MS = 60_000;
const AWAITS = 500;
const PROGRESS_MS = 2_000;

/** @param folder for its files: the ledger, the settings and the data of the sidecar */
export async function runMixed(wanted: Wanted, folder: string, say: (text: string) => void): Promise<Report> {
  const plan = await makePlan(wanted);
  say(`traffic: ${plan.traffic}\n`);
  const ledger = join(folder, 'ledger.tsv');
  mkdirSync(folder, { recursive: true });
  const leaders = join(folder, 'leaders.tsv');
  for (const file of [ledger, leaders]) appendFileSync(file, '');
  const { sidecar, at } = await Sidecar.start(folder);
  const watch = connect(at.grpc, { consumerId: 'mixed-test' });
  const failure = new Failure();
  const crew = new Crew(wanted.languages, at.grpc, ledger, leaders, (why) => failure.fail(why));
  const run = new Run(wanted, plan, ledger, leaders, sidecar, at, watch, crew, say);
  try {
    return await failure.orResult(run.all());
  } finally {
    await watch.close();
    await sidecar.stop();
  }
}

/** A failure that comes as an event ends the run. */
class Failure {
  #reject: (why: Error) => void = () => {};
  readonly #failed = new Promise<never>((_, reject) => {
    this.#reject = reject;
  });

  fail(why: Error): void {
    this.#reject(why);
  }

  orResult<T>(result: Promise<T>): Promise<T> {
    return Promise.race([result, this.#failed]);
  }
}

class Run {
  readonly #problems: SidecarProblem[] = [];
  readonly #callers: Callers;
  readonly #submitters: readonly Submitter[];
  readonly #start = performance.now();
  #done = 0;

  constructor(
    private readonly wanted: Wanted,
    private readonly plan: Plan,
    private readonly ledger: string,
    private readonly leaders: string,
    private readonly sidecar: Sidecar,
    private readonly at: Addresses,
    private readonly watch: Keyturn,
    private readonly crew: Crew,
    private readonly say: (text: string) => void,
  ) {
    this.#callers = new Callers(crew, ledger, wanted.seed);
    this.#submitters = wanted.languages.map((language) => new Submitter(language));
  }

  async all(): Promise<Report> {
    await Promise.all([this.crew.start(), ...this.#submitters.map((submitter) => submitter.open(this.at.grpc))]);
    this.#tell(`${this.wanted.languages.join(', ')}: a worker and a submitter each are up`);
    const progress = setInterval(() => this.#tellProgress(), PROGRESS_MS);
    try {
      const operator = new Operator(this.watch, this.leaders, this.wanted.languages);
      const rest = Promise.all([this.#work(), this.#kill()]).then(() => operator.stop());
      await Promise.all([rest, operator.run()]);
    } finally {
      clearInterval(progress);
    }
    this.#tellProgress();
    await this.crew.stop();
    await Promise.all(this.#submitters.map((submitter) => submitter.close()));
    await this.#checkEmpty();
    this.#checkAccepted();
    return this.#report();
  }

  async #work(): Promise<void> {
    await this.#load(this.plan.before);
    await this.#awaitAll(MEMORY_QUEUE);
    await this.#checkAcks();
    this.#tell('the queue in memory is empty');
    const begun = this.crew.begun;
    await Promise.all([this.#load(this.plan.during), this.#crash(begun + this.plan.crashAfterTurns)]);
    await this.#awaitAll(DURABLE_QUEUE);
  }

  async #load({ batches, turns }: Part): Promise<void> {
    await Promise.all([
      this.#callers.call(turns),
      ...this.#submitters.map((submitter) => submitter.submit(batches.get(submitter.language) ?? [])),
    ]);
  }

  async #kill(): Promise<void> {
    for (const { language, afterTurns } of this.plan.kills) {
      await this.crew.until(afterTurns);
      await this.crew.kill(language);
      this.#tell(`a worker of ${language} was killed, another one is there`);
    }
  }

  async #crash(begun: number): Promise<void> {
    await this.crew.until(begun);
    appendFileSync(this.ledger, writeLine({ kind: 'crash', token: tokenOfNow() }));
    await this.sidecar.kill();
    await this.sidecar.startAt(this.at);
    this.#tell('the sidecar was killed, and is there again');
  }

  /** The word of the sidecar on each item. */
  async #awaitAll(queue: string): Promise<void> {
    const ids = [...(this.plan.submitted.get(queue)?.values() ?? [])].flat();
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < ids.length) await this.#awaitOne(queue, ids[next++] ?? '');
    };
    await Promise.all(Array.from({ length: AWAITS }, lane));
  }

  async #awaitOne(queue: string, itemId: string): Promise<void> {
    for (;;) {
      const { state } = await this.watch.awaitItem({ queue, itemId, wait: AWAIT_MS }, { timeout: 2 * AWAIT_MS });
      if (state === 'waiting' || state === 'in_flight') continue;
      if (state !== 'done') this.#problems.push({ rule: 'await', what: `${itemId} of ${queue} is ${state}` });
      this.#done += 1;
      return;
    }
  }

  /** While the queue in memory has seen one process of the sidecar only, its counter is the whole truth. */
  async #checkAcks(): Promise<void> {
    const answer = await fetch(`http://${this.at.http}/metrics`);
    const metrics = await answer.text();
    const acks = acksIn(metrics, MEMORY_QUEUE);
    const items = [...(this.plan.submitted.get(MEMORY_QUEUE)?.values() ?? [])].flat().length;
    if (acks !== items)
      this.#problems.push({
        rule: 'acks',
        what: `the sidecar counted ${acks} Acks of ${items} items of ${MEMORY_QUEUE}`,
      });
  }

  async #checkEmpty(): Promise<void> {
    for (const { name, waiting, liveTurns, deadLetters } of (await this.watch.admin.listQueues()).queues)
      if (waiting + liveTurns + deadLetters > 0)
        this.#problems.push({
          rule: 'empty',
          what: `${name} still has ${waiting} waiting, ${liveTurns} live turns, ${deadLetters} dead letters`,
        });
  }

  #checkAccepted(): void {
    const accepted = this.#submitters.reduce((sum, submitter) => sum + submitter.accepted, 0);
    if (accepted === this.wanted.items) return;
    this.#problems.push({ rule: 'accepted', what: `${accepted} of ${this.wanted.items} items were accepted` });
  }

  #report(): Report {
    const account = checkLedger(readLedger(readFileSync(this.ledger, 'utf8')), {
      submitted: this.plan.submitted,
      finishedTurns: new Map([[TURN_QUEUE, this.#callers.called.done]]),
      languages: this.wanted.languages,
      processOf: (queue, token) => this.crew.processOf(queue, token),
    });
    if (this.#callers.called.done !== this.wanted.turns)
      this.#problems.push({
        rule: 'accepted',
        what: `${this.#callers.called.done} of ${this.wanted.turns} turns were done`,
      });
    const leaders = judgeLeaders(this.leaders, this.wanted.languages);
    const ofLeaders = leaders.problems.map((what): SidecarProblem => ({ rule: 'leaders', what }));
    const problems = [...account.problems, ...this.#problems, ...ofLeaders];
    const { kills, troubles } = this.crew;
    return { account, problems, called: this.#callers.called, leaders, kills, troubles };
  }

  #tellProgress(): void {
    const { items, turns } = this.wanted;
    const { ended, kills } = this.crew;
    const told = `told as done: ${this.#done} of ${items} items, ${this.#callers.called.done} of ${turns} turns asked for`;
    this.#tell(`${ended} turns ended; ${told}; ${kills} workers killed`);
  }

  #tell(what: string): void {
    this.say(`${((performance.now() - this.#start) / 1_000).toFixed(1).padStart(6)} s  ${what}\n`);
  }
}

/**
 * Between the tokens of the sidecar that runs now and those of one that is started later: the first token of a run is
 * the time of its start (rule S28), and a run gives less than 4,096 in a millisecond.
 */
function tokenOfNow(): number {
  return (Date.now() - Date.UTC(2025, 0, 1)) * 4_096;
}

/** @returns NaN when the counter is not there */
export function acksIn(metrics: string, queue: string): number {
  const line = metrics
    .split('\n')
    .find(
      (one) =>
        one.startsWith('keyturn_settlements_total{') && one.includes(`queue="${queue}"`) && one.includes('how="ack"'),
    );
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}
