import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SpoolError } from '@keyturn/client';
import { AppendFile } from '#client/produce/spool/append-file';
import { Cursor } from '#client/produce/spool/cursor';
import { DirectoryLock } from '#client/produce/spool/directory-lock';
import { Spool } from '#client/produce/spool/spool';
import { FakeClock } from '../../support/fake-clock.js';
import { settled, watched } from './fake-transport.js';

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'keyturn-spool-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return join(path, 'spool');
}

async function open(t: TestContext, directory: string, count = 1): Promise<{ spool: Spool; clock: FakeClock }> {
  const clock = new FakeClock();
  const spool = await Spool.open({ directory, queue: 'q', interval: 50, count, maxBytes: 65_536 }, clock);
  t.after(() => spool.close().catch(() => undefined));
  return { spool, clock };
}

function append(spool: Spool, ...ids: readonly string[]): Promise<void> {
  return spool.append(ids.map((itemId) => Spool.encode({ itemId, payload: Buffer.alloc(3_000) })));
}

async function handOver(spool: Spool, most: number, read: (count: number) => void = () => undefined) {
  const chunk = await spool.read(most, 1_000_000);
  if (chunk === undefined) return [];
  read(chunk.items.length);
  await spool.advance(chunk);
  return chunk.items.map(({ itemId }) => itemId);
}

async function drain(spool: Spool): Promise<readonly string[]> {
  const all: string[] = [];
  for (let ids = await handOver(spool, 2); ids.length > 0; ids = await handOver(spool, 2)) all.push(...ids);
  return all;
}

/** A disk that is full in the middle of an append: half of it is there. */
function fullDisk(t: TestContext): { restore(): void } {
  const { mock } = t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Buffer) {
    await this.handle.write(bytes, 0, bytes.length >> 1, this.size);
    throw new Error('ENOSPC: no space left');
  });
  return mock;
}

describe('a spool whose disk fails', () => {
  it('confirms what was appended before the failure when the file that it is in was synced, and not before', async (t) => {
    const { spool, clock } = await open(t, await folder(t), 100);
    const before = watched(append(spool, 'a'));
    while (clock.pending === 0) await settled();
    const full = fullDisk(t);
    await rejects(append(spool, 'b'), /ENOSPC/);
    full.restore();
    const synced: number[] = [];
    const { sync } = AppendFile.prototype;
    t.mock.method(AppendFile.prototype, 'sync', function (this: AppendFile) {
      synced.push(this.number);
      return sync.call(this);
    });
    await spool.mend();
    const after = append(spool, 'c');
    while (before.state === 'open') {
      clock.advance(50);
      await settled();
    }
    strictEqual(synced[0], 1, 'the first segment was synced, before any other');
    while (clock.pending === 0) await settled();
    clock.advance(50);
    await after;
    deepStrictEqual(await drain(spool), ['a', 'c']);
  });

  for (const mended of ['mended', 'not mended']) {
    it(`leaves nothing that a next start takes for damage when the segment is read before it is ${mended}`, async (t) => {
      const directory = await folder(t);
      const { spool } = await open(t, directory);
      await append(spool, 'a');
      const full = fullDisk(t);
      await rejects(append(spool, 'b'), /ENOSPC/);
      full.restore();
      const chunk = await spool.read(10, 1_000_000);
      deepStrictEqual(
        chunk?.items.map(({ itemId }) => itemId),
        ['a'],
      );
      if (mended === 'mended') {
        await spool.mend();
        await append(spool, 'c');
      }
      // As kill -9 leaves it.
      await cp(directory, `${directory}-2`, { recursive: true });
      await rm(join(`${directory}-2`, 'locks'), { recursive: true });
      const again = await open(t, `${directory}-2`);
      deepStrictEqual(await drain(again.spool), mended === 'mended' ? ['a', 'c'] : ['a']);
    });
  }

  it('stays broken as long as the end of what is being read cannot be cut away', async (t) => {
    const { spool } = await open(t, await folder(t));
    await append(spool, 'a');
    const full = fullDisk(t);
    await rejects(append(spool, 'b'), /ENOSPC/);
    full.restore();
    await spool.read(10, 1_000_000);
    const worse = t.mock.method(AppendFile.prototype, 'mend', () => Promise.reject(new Error('EIO: i/o error')));
    await spool.mend();
    worse.mock.restore();
    ok(spool.broken);
    await spool.mend();
    strictEqual(spool.broken, undefined);
    await append(spool, 'c');
    deepStrictEqual(await drain(spool), ['a', 'c']);
  });

  it('lets go of the directory though its cursor cannot be closed', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    const { close } = Cursor.prototype;
    const failing = t.mock.method(Cursor.prototype, 'close', async function (this: Cursor) {
      await close.call(this);
      throw new Error('EIO: i/o error');
    });
    await rejects(spool.close(), /EIO/);
    failing.mock.restore();
    await (await open(t, directory)).spool.close();
  });
});

describe('the directory of a spool', () => {
  it('where none can be made ends with an error', { timeout: 20_000 }, async (t) => {
    // Node's own recursive making never returns there.
    const failed = (error: unknown) => error instanceof SpoolError && error.problem === 'io';
    if (process.platform === 'linux') await rejects(open(t, '/proc/x/y'), failed);
    await rejects(open(t, '/dev/null/x/y'), failed);
  });

  it('is made once when several make it at the same time', async (t) => {
    const above = await folder(t);
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => open(t, join(above, 'x', 'y', name))));
    deepStrictEqual((await readdir(join(above, 'x', 'y'))).sort(), names);
  });

  it('is whole whenever the process ends: nothing confirmed is lost, and nothing is out of order', async (t) => {
    const crashes = await Crashes.record(t);
    let torn = 0;
    for (const { directory, confirmed, handedOver } of crashes.all) {
      const { spool } = await open(t, directory);
      if (spool.torn !== undefined) torn += 1;
      const left = await drain(spool);
      const numbers = left.map(Number);
      deepStrictEqual(
        numbers,
        [...numbers].sort((a, b) => a - b),
      );
      strictEqual(new Set(left).size, left.length);
      for (let id = handedOver; id < confirmed; id++)
        ok(numbers.includes(id), `${id} is lost in ${basename(directory)}`);
      await spool.close();
    }
    ok(crashes.all.length > 100, `${crashes.all.length} moments`);
    ok(torn > 10, `${torn} of them in the middle of a record`);
  });
});

interface Crash {
  readonly directory: string;
  /** So many items were told to be safe, */
  readonly confirmed: number;
  /** and so many of them were handed over, or are about to be noted as that. */
  readonly handedOver: number;
}

/** What is on disk at each step of a spool that is written and read. */
class Crashes {
  readonly all: Crash[] = [];
  #confirmed = 0;
  #handedOver = 0;

  private constructor(
    private readonly directory: string,
    private readonly to: string,
  ) {}

  static async record(t: TestContext): Promise<Crashes> {
    const directory = await folder(t);
    const crashes = new Crashes(directory, await mkdtemp(join(tmpdir(), 'keyturn-crashes-')));
    t.after(() => rm(crashes.to, { recursive: true, force: true }));
    const mocks = crashes.#watch(t);
    const { spool } = await open(t, directory);
    await crashes.#work(spool);
    await spool.close();
    for (const { mock } of mocks) mock.restore();
    return crashes;
  }

  async #work(spool: Spool): Promise<void> {
    const read = (count: number): void => {
      this.#handedOver += count;
    };
    for (let id = 0; id < 12; id++) {
      await append(spool, String(id));
      this.#confirmed = id + 1;
      if (id % 4 === 3) await handOver(spool, 2, read);
    }
    for (let ids = await handOver(spool, 1, read); ids.length > 0; ids = await handOver(spool, 1, read));
    await append(spool, '12');
    this.#confirmed = 13;
  }

  /** Before and after each, and in the middle of what is written. */
  #watch(t: TestContext) {
    const crashes = this;
    const { append: appendTo, sync } = AppendFile.prototype;
    const { write } = Cursor.prototype;
    const { release } = DirectoryLock.prototype;
    return [
      t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Buffer, items: number) {
        const { size } = this;
        await crashes.#now();
        await appendTo.call(this, bytes, items);
        for (const part of [1, 7, 12, 13, bytes.length >> 1, bytes.length - 1])
          await crashes.#now(this.path, size + part);
      }),
      t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
        await sync.call(this);
        await crashes.#now();
      }),
      t.mock.method(Cursor.prototype, 'write', async function (this: Cursor, at: { segment: number; offset: number }) {
        await crashes.#now();
        await write.call(this, at);
        await crashes.#now();
        await crashes.#now(join(crashes.directory, 'cursor'), 9);
      }),
      t.mock.method(DirectoryLock.prototype, 'release', async function (this: DirectoryLock) {
        await crashes.#now();
        await release.call(this);
      }),
    ];
  }

  /** @param cut this file, after so many bytes */
  async #now(cut?: string, size = 0): Promise<void> {
    const directory = join(this.to, String(this.all.length));
    await cp(this.directory, directory, { recursive: true });
    await rm(join(directory, 'locks'), { recursive: true, force: true });
    if (cut !== undefined) {
      const file = join(directory, basename(cut));
      if ((await stat(file)).size > size) await truncate(file, size);
    }
    this.all.push({ directory, confirmed: this.#confirmed, handedOver: this.#handedOver });
  }
}
