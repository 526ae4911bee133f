/**
 * `node dist/test/load/show-leaders.js [groups] [processes]`: how long a group is without a leader, and what many groups cost. It
 * ends by itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connect, type LeaderCareer } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { parseExposition } from '../observability/exposition.js';
import { deferred } from '../support/deferred.js';

const CROWD = fileURLToPath(new URL('./leader-crowd.js', import.meta.url));
const TTL = 5_000;
const KILLS = 5;
const YIELDS = 200;
/** How long it is looked at, ms. */
const AT_REST = 20_000;

/** Run first in the sidecar: at SIGUSR2 it collects its garbage, so that what is counted is what is held. */
const COLLECTS = `import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());`;
const COLLECTING = { NODE_OPTIONS: `--import data:text/javascript;base64,${Buffer.from(COLLECTS).toString('base64')}` };
/** Until that is done, ms. */
const COLLECTED = 3_000;

type Task = () => Promise<unknown> | unknown;
type After = (task: Task) => void;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Workers in a process of their own; tells what they say. */
class Crowd {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(after: After, ...words: readonly string[]) {
    const child = spawn(process.execPath, [CROWD, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    after(() => child.kill('SIGKILL'));
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async said(word: string): Promise<void> {
    for (let next = await this.#lines.next(); next.done !== true; next = await this.#lines.next())
      if (next.value === word) return;
    throw new Error(`the workers ended without "${word}"`);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

function spread(name: string, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => `${(sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)} ms`;
  say(`${name}: median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)}, of ${values.length}`);
}

/** From the kill until the next one is inaugurated. */
async function killed(after: After, address: string): Promise<void> {
  const taken: number[] = [];
  let leader = new Crowd(after, address, '1', '1', '0', String(TTL));
  await leader.said('leads');
  for (let kill = 0; kill < KILLS; kill += 1) {
    const next = new Crowd(after, address, '1', '1', '0', String(TTL));
    await next.said('stands');
    const at = performance.now();
    await leader.kill();
    await next.said('inaugurated');
    taken.push(performance.now() - at);
    await next.said('leads');
    leader = next;
  }
  await leader.kill();
  spread(`leader killed with -9 until the next one is inaugurated, ttl ${TTL} ms`, taken);
}

/** From the yield until the other one is inaugurated. */
async function yielded(address: string): Promise<void> {
  const [a, b] = [connect(address), connect(address)];
  const taken: number[] = [];
  let asked = 0;
  let begun = deferred<void>();
  const career: LeaderCareer = {
    inaugurate: () => void (asked > 0 && taken.push(performance.now() - asked)),
    execute: async (_term, signal) => {
      begun.resolve();
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
  const both = [a.lead('yields', career), b.lead('yields', career)];
  await begun.promise;
  for (let time = 0; time < YIELDS; time += 1) {
    begun = deferred<void>();
    asked = performance.now();
    for (const one of both) if (one.term !== undefined) one.yield();
    await begun.promise;
  }
  await Promise.all([a.close({ timeout: 0 }), b.close({ timeout: 0 })]);
  spread('yield until the next one is inaugurated, over two connections', taken);
}

interface Used {
  readonly heap: number;
  readonly resident: number;
  readonly candidates: number;
}

async function used(sidecar: ServeProcess): Promise<Used> {
  sidecar.signal('SIGUSR2');
  await passed(COLLECTED);
  const families = parseExposition((await sidecar.get('/metrics')).body);
  const of = (name: string) => families.get(name)?.samples.reduce((sum, { value }) => sum + value, 0) ?? 0;
  return {
    heap: of('nodejs_heap_size_used_bytes') + of('nodejs_external_memory_bytes'),
    resident: of('process_resident_memory_bytes'),
    candidates: of('keyturn_leader_candidates'),
  };
}

async function cpuOf(sidecar: ServeProcess): Promise<number> {
  const families = parseExposition((await sidecar.get('/metrics')).body);
  return families.get('process_cpu_seconds_total')?.samples[0]?.value ?? 0;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function crowded(after: After, groups: number, processes: number): Promise<void> {
  const sidecar = await ServeProcess.start({ after }, [], COLLECTING);
  const address = await sidecar.address('grpc');
  await passed(5_000);
  const before = await used(sidecar);
  const crowds: Crowd[] = [];
  for (let number = 0; number < processes; number += 1)
    crowds.push(new Crowd(after, address, String(groups), String(processes), String(number), String(TTL)));
  await Promise.all(crowds.map((crowd) => crowd.said('all told')));
  say(`${groups} groups with three candidates each, from ${processes} processes`);
  await passed(10_000);
  const begin = await cpuOf(sidecar);
  const from = performance.now();
  await passed(AT_REST);
  const cpu = (await cpuOf(sidecar)) - begin;
  const seconds = (performance.now() - from) / 1_000;
  const end = await used(sidecar);
  const kilobytes = (bytes: number) => `${(bytes / groups / 1_000).toFixed(1)} kB`;
  say(`waiting candidates: ${end.candidates}`);
  say(
    `memory a group: ${kilobytes(end.heap - before.heap)} of heap, ${kilobytes(end.resident - before.resident)} resident`,
  );
  say(`CPU of the sidecar at rest: ${((cpu / seconds) * 100).toFixed(1)} % of a core over ${seconds.toFixed(0)} s`);
}

async function main(groups = '10000', processes = '30'): Promise<void> {
  const tasks: Task[] = [];
  const after = (task: Task) => void tasks.unshift(task);
  try {
    const sidecar = await ServeProcess.start({ after });
    const address = await sidecar.address('grpc');
    // Nobody can have led before.
    await passed(TTL);
    await yielded(address);
    await killed(after, address);
    sidecar.signal('SIGKILL');
    await crowded(after, Number(groups), Number(processes));
  } finally {
    for (const task of tasks) await task();
  }
}

await main(...process.argv.slice(2));
