/** Real processes that are killed: workers, producers with a spool, the sidecar. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Consumer, connect, type ItemCall, type Keyturn, type Producer, type Work } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { freePort } from '../../support/free-port.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

/** For what should have been so long before. */
const LONGEST_MS = 60_000;
const LOOK_MS = 20;

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'keyturn-spool-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Where nobody listens, and a sidecar can be started later. */
async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}

class Child {
  /** What became of each item that was told. */
  readonly told = new Map<number, string>();
  readonly #process: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(t: TestContext, args: readonly string[]) {
    const script = fileURLToPath(new URL('./spooling-child.js', import.meta.url));
    this.#process = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => this.#process.kill('SIGKILL'));
    const { stdout } = this.#process;
    ok(stdout);
    createInterface({ input: stdout }).on('line', (line) => {
      const [n, decision] = line.split(' ');
      if (decision === undefined) this.#isOver = true;
      else this.told.set(Number(n), decision);
      for (const wake of this.#waiting) wake();
    });
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    this.#waiting.clear();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async kill(): Promise<void> {
    const closed = once(this.#process, 'close');
    this.#process.kill('SIGKILL');
    await closed;
  }
}

/** Takes everything out of the queue: the numbers of its items by key, in the order of their turns. */
async function drained(
  t: TestContext,
  address: string,
  count: () => number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const keyturn = connect(address);
  t.after(() => keyturn.close({ timeout: 0 }));
  const byKey = new Map<string, number[]>();
  let seen = 0;
  const consumer = keyturn.consume(
    'q',
    ({ key, items }) => {
      const numbers = items.map(({ payload }) => Number(Buffer.from(payload).toString()));
      byKey.set(key, [...(byKey.get(key) ?? []), ...numbers]);
      seen += items.length;
      if (seen >= count()) void consumer.stop();
    },
    { concurrency: 3, maxItemsPerTurn: 100 },
  );
  await consumer.done;
  return byKey;
}

async function handOver(t: TestContext, address: string, directory: string) {
  const keyturn = connect(address);
  t.after(() => keyturn.close({ timeout: 0 }));
  const errors: [string, ItemCall | undefined][] = [];
  const producer = keyturn.producer('q', {
    spool: { directory },
    onError: (error, item) => void errors.push([String(error), item]),
  });
  await producer.ready();
  const found = producer.spooled;
  const deadline = performance.now() + LONGEST_MS;
  while (producer.spooled > 0) {
    ok(performance.now() < deadline, `${producer.spooled} are left; ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  await producer.close();
  return { found, errors };
}

it('a spool outlives kill -9: all that was confirmed is handed over on the next start, in order, once', async (t) => {
  const [directory, address] = [await folder(t), await freeAddress()];
  const child = new Child(t, [address, directory, '5000']);
  await child.until(() => child.told.size >= 700);
  await child.kill();
  const confirmed = [...child.told.keys()];
  deepStrictEqual(new Set(child.told.values()), new Set(['spooled']));

  await startSidecar(t, localCoordinator(t), { listen: address });
  const { found, errors } = await handOver(t, address, directory);
  ok(found >= confirmed.length, `${found} of ${confirmed.length}`);
  deepStrictEqual(
    errors.filter(([error]) => !error.includes('were cut away')),
    [],
  );
  const byKey = await drained(t, address, () => found);
  const all = [...byKey.values()].flat();
  strictEqual(new Set(all).size, found, 'nothing twice');
  const left = new Set(all);
  deepStrictEqual(
    confirmed.filter((n) => !left.has(n)),
    [],
    'nothing is lost that was confirmed',
  );
  for (const numbers of byKey.values())
    deepStrictEqual(
      numbers,
      numbers.toSorted((one, other) => one - other),
    );
});

/** More than the first batches that it hands over. */
const COUNT = 1_500;

it('a spool that is killed while it hands over goes on where it was: nothing twice', async (t) => {
  const [directory, address] = [await folder(t), await freeAddress()];
  const child = new Child(t, [address, directory, `${COUNT}`]);
  await child.until(() => child.isOver);
  strictEqual(child.told.size, COUNT);
  await child.kill();
  await startSidecar(t, localCoordinator(t), { listen: address });
  // Another one begins to hand over, and is killed in the middle of it.
  const second = new Child(t, [address, directory, '0']);
  const keyturn = connect(address);
  t.after(() => keyturn.close({ timeout: 0 }));
  const waiting = async () => (await keyturn.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting ?? 0;
  while ((await waiting()) === 0);
  await second.kill();
  await handOver(t, address, directory);
  const byKey = await drained(t, address, () => COUNT);
  const all = [...byKey.values()].flat();
  deepStrictEqual([all.length, new Set(all).size], [COUNT, COUNT]);
  for (const numbers of byKey.values())
    deepStrictEqual(
      numbers,
      numbers.toSorted((one, other) => one - other),
    );
});

it('a spool with a torn tail is handed over up to there, and says so', async (t) => {
  const [directory, address] = [await folder(t), await freeAddress()];
  const child = new Child(t, [address, directory, '100']);
  await child.until(() => child.isOver);
  await child.kill();
  const last =
    (await readdir(directory))
      .filter((name) => name.endsWith('.spool'))
      .sort()
      .at(-1) ?? '';
  await appendFile(join(directory, last), Buffer.from('KtR1torn'));
  await startSidecar(t, localCoordinator(t), { listen: address });
  const { found, errors } = await handOver(t, address, directory);
  strictEqual(found, 100);
  deepStrictEqual(
    errors.map(([error]) => /8 bytes of a record that was never confirmed were cut away/.test(error)),
    [true],
  );
});

const TRANSPORTS = ['session', 'unary'] as const;

it('workers and producers outlive a sidecar that is killed and comes back, over session and unary', async (t) => {
  const address = await freeAddress();
  const first = await ServeProcess.start(t, ['--listen', address]);
  const companies = await Promise.all(TRANSPORTS.map((transport) => Company.start(t, address, transport)));
  first.signal('SIGKILL');
  await first.exited;
  for (const company of companies) await company.addMeanwhile();
  await ServeProcess.start(t, ['--listen', address]);
  for (const company of companies) await company.goesOn();
});

/** A worker and a producer with one client and a queue of their own. */
class Company {
  readonly #seen = new Set<string>();

  static async start(t: TestContext, address: string, transport: (typeof TRANSPORTS)[number]): Promise<Company> {
    const directory = await folder(t);
    const keyturn = connect(address, { transport });
    t.after(() => keyturn.close({ timeout: 0 }));
    const producer = keyturn.producer(transport, { spool: { directory, patience: 300 }, onError: () => undefined });
    const company = new Company(keyturn, transport, producer);
    strictEqual((await producer.add({ key: 'k', itemId: 'before' })).decision, 'accept');
    return company;
  }

  readonly #consumer: Consumer;

  private constructor(
    private readonly keyturn: Keyturn,
    private readonly queue: string,
    private readonly producer: Producer,
  ) {
    const work = ({ item }: Work) => void this.#seen.add(item.itemId);
    this.#consumer = keyturn.consume(queue, work, { concurrency: 4, wait: 1_000 });
  }

  async addMeanwhile(): Promise<void> {
    const added = MEANWHILE.map((itemId) => this.producer.add({ key: 'k', itemId }));
    const decisions = (await Promise.all(added)).map(({ decision }) => decision);
    deepStrictEqual(new Set(decisions), new Set(['spooled']));
  }

  async goesOn(): Promise<void> {
    const deadline = performance.now() + LONGEST_MS;
    while (!(this.producer.spooled === 0 && MEANWHILE.every((itemId) => this.#seen.has(itemId)))) {
      ok(performance.now() < deadline, `spooled ${this.producer.spooled}, seen ${[...this.#seen]}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    const outcome = await this.keyturn.withTurn(`other-${this.queue}`, 'k', { wait: 10_000 }, () => 'works');
    strictEqual(outcome.status, 'done');
    await this.#consumer.stop();
  }
}

const MEANWHILE = ['meanwhile-1', 'meanwhile-2', 'meanwhile-3'];
