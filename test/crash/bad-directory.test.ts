/** A start on a directory that cannot be used: its exit code (SPEC, section 6), a message that names it and says what to do, nothing changed. */
import assert from 'node:assert/strict';
import { chmod, cp, mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect } from '@keyturn/client';
import { CommandFailure } from '../../src/cli/failure.js';
import { openDataDirectory } from '../../src/cli/serve/data-directory.js';
import { loadConfig } from '../../src/config/config.js';
import { type Cleanup, type Ended, put, temporaryFolder } from '../cli/keyturn-process.js';
import { CrashingSidecar } from './crashing-sidecar.js';
import { Device, whyNoDevice } from './device.js';

const SETTINGS = 'queues: { orders: { durable: true } }';
const NOTHING: readonly string[] = [];

/** A directory with an item in it, of a sidecar that was killed. */
async function use(cleanup: Cleanup): Promise<string> {
  const dataDir = join(await temporaryFolder(cleanup), 'data');
  const sidecar = await CrashingSidecar.make(cleanup, { settings: SETTINGS, dataDir });
  await sidecar.start();
  const keyturn = connect(sidecar.address, { transport: 'unary' });
  await keyturn.submit({ queue: 'orders', items: [{ key: 'k', itemId: 'i', payload: new Uint8Array(100_000) }] });
  await keyturn.close();
  await sidecar.kill();
  return dataDir;
}

async function start(t: TestContext, dataDir: string, runBy = NOTHING, settings = SETTINGS): Promise<Ended> {
  const sidecar = await CrashingSidecar.make(t, { settings, dataDir, runBy });
  return sidecar.startInVain();
}

/** What the start says, without a process. */
async function refuse(dataDir: string): Promise<Ended> {
  const opened = openDataDirectory(loadConfig({}, { KEYTURN_DATA_DIR: dataDir }));
  const error: unknown = await opened.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof CommandFailure, String(error));
  return { exitCode: error.exitCode, signal: null, stdout: '', stderr: error.message };
}

/** 1: what is there fails. 2: another value of the setting is what helps. */
function assertRefused({ exitCode, signal, stderr }: Ended, code: 1 | 2, ...said: readonly RegExp[]): void {
  assert.deepEqual([exitCode, signal], [code, null], stderr);
  for (const one of said) assert.match(stderr, one);
  assert.doesNotMatch(stderr, /^\s+at /m, 'no stack');
}

/** The file of the data, and nothing but it: the largest. */
async function dataFileOf(dataDir: string): Promise<string> {
  const names = await readdir(dataDir);
  const sizes = await Promise.all(names.map(async (name) => ({ name, size: (await stat(join(dataDir, name))).size })));
  const [largest] = sizes.sort((a, b) => b.size - a.size);
  assert.ok(largest !== undefined && largest.size > 100_000, JSON.stringify(sizes));
  return join(dataDir, largest.name);
}

const DAMAGES: Readonly<Record<string, (file: string) => Promise<void>>> = {
  async 'its beginning overwritten'(file) {
    const handle = await open(file, 'r+');
    await handle.write(new Uint8Array(16_384).fill(0x5a), 0, 16_384, 0);
    await handle.close();
  },
  'cut off': (file) => truncate(file, 20_000),
  emptied: (file) => truncate(file, 0),
  'another file in its place': (file) => writeFile(file, 'this is no data file\n'.repeat(10_000)),
  'no file': (file) => rm(file),
};

describe('a start on a data directory that cannot be used', { timeout: 120_000 }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let original: string;

  before(async () => {
    original = await use({ after: (task) => void tasks.unshift(task) });
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  async function used(t: TestContext): Promise<string> {
    const dataDir = join(await temporaryFolder(t), 'data');
    // The lock of the one that was killed is a socket: no copy of it would be one.
    await cp(original, dataDir, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    return dataDir;
  }

  it('in use: the other process is named, and goes on', async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const first = await CrashingSidecar.make(t, { settings: SETTINGS, dataDir });
    await first.start();
    assertRefused(await start(t, dataDir), 1, new RegExp(dataDir), /in use/, new RegExp(`process ${first.pid}`));
    const keyturn = connect(first.address, { transport: 'unary' });
    t.after(() => keyturn.close());
    const { results } = await keyturn.submit({ queue: 'orders', items: [{ key: 'k' }] });
    assert.equal(results[0]?.decision, 'accept');
  });

  for (const [what, damage] of Object.entries(DAMAGES)) {
    it(`damaged (${what}): the file is named and left as it is`, async (t) => {
      const dataDir = await used(t);
      const file = await dataFileOf(dataDir);
      await damage(file);
      const before = await readFile(file).catch(() => undefined);
      assertRefused(await refuse(dataDir), 1, new RegExp(file), /data check|backup/);
      assert.deepEqual(
        await readFile(file).catch(() => undefined),
        before,
        'nothing is written to it, and none is made',
      );
    });
  }

  it('damaged: the process says so, and ends', async (t) => {
    const dataDir = await used(t);
    const file = await dataFileOf(dataDir);
    await truncate(file, 20_000);
    assertRefused(await start(t, dataDir), 1, new RegExp(file), /data check|backup/);
  });

  it('not writable: the directory is named', async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    await mkdir(dataDir);
    // Whoever is root may write anywhere but on a device that is read-only.
    const isRoot = process.getuid?.() === 0;
    const why = isRoot ? whyNoDevice() : undefined;
    if (why !== undefined) return t.skip(why);
    const device = isRoot ? await Device.make(t, 'ro') : undefined;
    await chmod(dataDir, 0o500);
    const directory = device?.directory ?? dataDir;
    assertRefused(await start(t, directory, device?.runBy), 2, new RegExp(directory), /right to read and write/);
  });

  it('a file where the directory should be', async (t) => {
    const file = await put(await temporaryFolder(t), 'data', 'x');
    assertRefused(await refuse(file), 2, new RegExp(file), /--data-dir/);
    assert.equal(await readFile(file, 'utf8'), 'x');
  });

  it('a device without any room: the directory is named', async (t) => {
    const why = whyNoDevice();
    if (why !== undefined) return t.skip(why);
    const device = await Device.make(t, 'size=64k');
    device.fill();
    assertRefused(await start(t, device.directory, device.runBy), 1, new RegExp(device.directory), /room/);
  });

  it('with items of a queue that is not durable any more: it is named, with what there is of it', async (t) => {
    const dataDir = await used(t);
    const refused = await start(t, dataDir, NOTHING, 'queues: { orders: { durable: false } }');
    assertRefused(refused, 2, /orders \(1 items?, 0 dead letters, 0 live turns\)/, /data export/);
    const sidecar = await CrashingSidecar.make(t, { settings: SETTINGS, dataDir });
    await sidecar.start();
    const keyturn = connect(sidecar.address, { transport: 'unary' });
    t.after(() => keyturn.close());
    assert.equal((await keyturn.awaitItem({ queue: 'orders', itemId: 'i' })).state, 'waiting', 'and nothing is lost');
  });
});
