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
import { connect, type ItemCall } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { freePort } from '../../support/free-port.js';

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
  const deadline = performance.now() + 20_000;
  while (producer.spooled > 0) {
    ok(performance.now() < deadline, `${producer.spooled} are left; ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
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

  await ServeProcess.start(t, ['--listen', address]);
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

it('a spool that is killed while it hands over goes on where it was: nothing twice', async (t) => {
  const [directory, address] = [await folder(t), await freeAddress()];
  const child = new Child(t, [address, directory, '3000']);
  await child.until(() => child.isOver);
  strictEqual(child.told.size, 3_000);
  await child.kill();
  await ServeProcess.start(t, ['--listen', address]);
  // Another one begins to hand over, and is killed in the middle of it.
  const second = new Child(t, [address, directory, '0']);
  const keyturn = connect(address);
  t.after(() => keyturn.close({ timeout: 0 }));
  const waiting = async () => (await keyturn.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting ?? 0;
  while ((await waiting()) === 0);
  await second.kill();
  await handOver(t, address, directory);
  const byKey = await drained(t, address, () => 3_000);
  const all = [...byKey.values()].flat();
  deepStrictEqual([all.length, new Set(all).size], [3_000, 3_000]);
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
  await ServeProcess.start(t, ['--listen', address]);
  const { found, errors } = await handOver(t, address, directory);
  strictEqual(found, 100);
  deepStrictEqual(
    errors.map(([error]) => /8 bytes of a record that was never confirmed were cut away/.test(error)),
    [true],
  );
});

for (const transport of ['session', 'unary'] as const) {
  it(`workers and producers outlive a sidecar that is killed and comes back, over ${transport}`, async (t) => {
    const [directory, address] = [await folder(t), await freeAddress()];
    const first = await ServeProcess.start(t, ['--listen', address]);
    const keyturn = connect(address, { transport });
    t.after(() => keyturn.close({ timeout: 0 }));
    const seen = new Set<string>();
    const consumer = keyturn.consume('q', ({ item }) => void seen.add(item.itemId), { concurrency: 4, wait: 1_000 });
    const producer = keyturn.producer('q', { spool: { directory, patience: 300 }, onError: () => undefined });
    strictEqual((await producer.add({ key: 'k', itemId: 'before' })).decision, 'accept');
    first.signal('SIGKILL');
    await first.exited;
    const meanwhile = await Promise.all([1, 2, 3].map((n) => producer.add({ key: 'k', itemId: `meanwhile-${n}` })));
    deepStrictEqual(new Set(meanwhile.map(({ decision }) => decision)), new Set(['spooled']));
    await ServeProcess.start(t, ['--listen', address]);
    const deadline = performance.now() + 30_000;
    while (!(producer.spooled === 0 && seen.size >= 3)) {
      ok(performance.now() < deadline, `spooled ${producer.spooled}, seen ${[...seen]}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const outcome = await keyturn.withTurn('other', 'k', { wait: 10_000 }, () => 'works');
    strictEqual(outcome.status, 'done');
    await consumer.stop();
    for (const n of [1, 2, 3]) ok(seen.has(`meanwhile-${n}`));
  });
}
