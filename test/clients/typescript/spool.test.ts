import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SpoolError } from '@keyturn/client';
import { AppendFile } from '#client/produce/spool/append-file';
import { Cursor } from '#client/produce/spool/cursor';
import { makeDirectory } from '#client/produce/spool/directory';
import { DirectoryLock } from '#client/produce/spool/directory-lock';
import type { NamedItem } from '#client/produce/spool/item-record';
import type { SpoolSettings } from '#client/produce/spool/segment-writer';
import { Spool } from '#client/produce/spool/spool';
import { FakeClock } from '../../support/fake-clock.js';
import { settled, watched } from './fake-transport.js';

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'keyturn-spool-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return join(path, 'spool');
}

interface Opened {
  readonly spool: Spool;
  readonly clock: FakeClock;
}

async function open(t: TestContext, directory: string, more: Partial<SpoolSettings> = {}): Promise<Opened> {
  const clock = new FakeClock();
  const settings = { directory, queue: 'q', interval: 50, count: 1, maxBytes: 1_048_576, ...more };
  const spool = await Spool.open(settings, clock);
  t.after(() => spool.close().catch(() => undefined));
  return { spool, clock };
}

function item(id: string, bytes = 10): NamedItem {
  return { itemId: id, key: `key ${id}`, payload: Buffer.alloc(bytes, id) };
}

function append(spool: Spool, ...ids: readonly string[]): Promise<void> {
  return spool.append(ids.map((id) => Spool.encode(item(id))));
}

/** Everything that is left, handed over. */
async function drain(spool: Spool, most = 2): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let chunk = await spool.read(most, 1_000_000); chunk !== undefined; chunk = await spool.read(most, 1_000_000)) {
    ids.push(...chunk.items.map(({ itemId }) => itemId));
    await spool.advance(chunk);
  }
  return ids;
}

async function segments(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.spool')).sort();
}

describe('a spool', () => {
  it('gives items back as they were, in order', async (t) => {
    const { spool } = await open(t, await folder(t));
    const full: NamedItem = {
      itemId: 'ü',
      key: 'k',
      idempotencyKey: 'i',
      delay: 5,
      headers: new Map([['a', 'b']]),
      after: [{ queue: 'r', itemId: 'ö' }],
      afterUnknown: 'wait',
      payload: Buffer.from([0, 255]),
    };
    const bare: NamedItem = { itemId: 'bare' };
    await spool.append([Spool.encode(full), Spool.encode(bare)]);
    const chunk = await spool.read(10, 1_000_000);
    deepStrictEqual(chunk?.items[0], full);
    const { key, delay, headers, idempotencyKey, payload } = chunk?.items[1] ?? {};
    deepStrictEqual(
      [key, delay, headers, idempotencyKey, payload?.length],
      [undefined, undefined, undefined, undefined, 0],
    );
  });

  it('is read while it is written, and removes what was handed over', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    await append(spool, 'a', 'b', 'c');
    const first = await spool.read(2, 1_000_000);
    await append(spool, 'd');
    ok(first);
    await spool.advance(first);
    strictEqual(spool.items, 2);
    deepStrictEqual(await drain(spool), ['c', 'd']);
    deepStrictEqual([spool.items, await segments(directory)], [0, []]);
    await append(spool, 'e');
    deepStrictEqual(await drain(spool), ['e']);
  });

  it('confirms when it is synced: after the interval', async (t) => {
    const { spool, clock } = await open(t, await folder(t), { count: 100 });
    const appended = watched(append(spool, 'a'));
    // The file must be there first, which is I/O; the wait for it ends with the timer being set.
    while (clock.pending === 0) await settled();
    clock.advance(49);
    await settled();
    strictEqual(appended.state, 'open');
    clock.advance(1);
    await appended.promise;
  });

  it('confirms when it is synced: after so many items, of one append or of several', async (t) => {
    const { spool } = await open(t, await folder(t), { count: 3 });
    await Promise.all([append(spool, 'a'), append(spool, 'b', 'c')]);
    await append(spool, 'd', 'e', 'f', 'g');
    strictEqual(spool.items, 7);
  });

  it('has what it had when it is opened again, from where it was', async (t) => {
    const directory = await folder(t);
    const first = await open(t, directory);
    await append(first.spool, 'a', 'b', 'c');
    const chunk = await first.spool.read(1, 1_000_000);
    ok(chunk);
    await first.spool.advance(chunk);
    await append(first.spool, 'd');
    await first.spool.close();
    const second = await open(t, directory);
    strictEqual(second.spool.items, 3);
    await append(second.spool, 'e');
    deepStrictEqual(await drain(second.spool), ['b', 'c', 'd', 'e']);
  });

  it('starts from the start of its oldest segment when nobody knows how far it was', async (t) => {
    const directory = await folder(t);
    const first = await open(t, directory);
    await append(first.spool, 'a', 'b');
    const chunk = await first.spool.read(1, 1_000_000);
    ok(chunk);
    await first.spool.advance(chunk);
    await first.spool.close();
    await writeFile(join(directory, 'cursor'), 'nonsense');
    const second = await open(t, directory);
    deepStrictEqual(await drain(second.spool), ['a', 'b']);
  });

  for (const [what, sizes] of [
    ['of the same size', [10, 10, 10]],
    ['that are smaller', [400, 100, 10]],
    ['that are larger', [10, 100, 400]],
  ] as const) {
    it(`takes no place of a segment that is gone for one in a later segment, with items ${what}`, async (t) => {
      const directory = await folder(t);
      const numbers: string[] = [];
      for (const [life, size] of sizes.entries()) {
        const writer = (await open(t, directory)).spool;
        const ids = Array.from({ length: 9 }, (_, n) => `${life}-${n}`);
        await writer.append(ids.map((id) => Spool.encode(item(id, size))));
        await writer.close();
        numbers.push(...(await segments(directory)));
        const heir = (await open(t, directory)).spool;
        strictEqual(heir.items, 9);
        // In parts: so the cursor stands somewhere in the segment before the segment goes.
        deepStrictEqual(await drain(heir, 4), ids);
        await heir.close();
      }
      deepStrictEqual(numbers, ['0000000001.spool', '0000000002.spool', '0000000003.spool']);
    });
  }

  it('does not begin in the middle of a record, whatever the cursor says', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    await append(spool, 'a', 'b', 'c');
    await spool.close();
    const { cursor } = await Cursor.open(directory);
    const end = (await stat(join(directory, '0000000001.spool'))).size;
    for (const offset of [1, end - 1, end + 1]) {
      await cursor.write({ segment: 1, offset });
      const heir = (await open(t, directory)).spool;
      strictEqual(heir.items, 3, String(offset));
      await heir.close();
    }
    await cursor.close();
  });

  it('goes on handing over when the cursor cannot be written, and makes room', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    await append(spool, 'a', 'b', 'c');
    const full = t.mock.method(Cursor.prototype, 'write', () => Promise.reject(new Error('ENOSPC: no space left')));
    const failed = (error: unknown) => error instanceof SpoolError && error.problem === 'io';
    const ids: string[] = [];
    for (let chunk = await spool.read(1, 1_000_000); chunk !== undefined; chunk = await spool.read(1, 1_000_000)) {
      ids.push(...chunk.items.map(({ itemId }) => itemId));
      await rejects(spool.advance(chunk), failed);
    }
    deepStrictEqual([ids, spool.items, await segments(directory)], [['a', 'b', 'c'], 0, []]);
    full.mock.restore();
    await append(spool, 'd');
    deepStrictEqual(await drain(spool), ['d']);
  });

  it('is mended after a failure of the file system: what comes is appended to another segment', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    await append(spool, 'a');
    const full = t.mock.method(AppendFile.prototype, 'append', () =>
      Promise.reject(new Error('ENOSPC: no space left')),
    );
    await rejects(append(spool, 'b'), /ENOSPC/);
    await rejects(append(spool, 'c'), /ENOSPC/);
    full.mock.restore();
    ok(spool.broken);
    await spool.mend();
    strictEqual(spool.broken, undefined);
    await append(spool, 'd');
    deepStrictEqual(await drain(spool), ['a', 'd']);
    strictEqual(spool.items, 0);
  });

  it('makes the names of new directories safe in those above, down from the first that was there', async (t) => {
    const directory = await folder(t);
    const synced: string[] = [];
    const sync = async (path: string) => void synced.push(path);
    await makeDirectory(join(directory, 'b', 'c'), sync);
    deepStrictEqual(synced, [join(directory, 'b'), directory, dirname(directory)]);
    await makeDirectory(join(directory, 'b', 'c'), sync);
    strictEqual(synced.length, 3, 'nothing was made');
  });

  it('is bounded, and has room again when a segment was handed over', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory, { maxBytes: 65_536 });
    let appended = 0;
    for (const record = Spool.encode(item('x', 2_000)); spool.fits(record.length); appended++)
      await spool.append([record]);
    ok(appended > 25 && appended < 33, String(appended));
    const sizes = await Promise.all((await segments(directory)).map((name) => stat(join(directory, name))));
    ok(sizes.reduce((sum, { size }) => sum + size, 0) <= 65_536);
    for (let left = 8; left > 0; left--) {
      const chunk = await spool.read(1, 1_000_000);
      if (chunk !== undefined) await spool.advance(chunk);
    }
    strictEqual(spool.fits(2_100), true);
    strictEqual(spool.fits(65_536, true), false);
  });

  describe('that was cut off', () => {
    /** A directory with items a, b, c in one segment. */
    async function written(t: TestContext): Promise<{ readonly directory: string; readonly file: string }> {
      const directory = await folder(t);
      const { spool } = await open(t, directory);
      await append(spool, 'a', 'b', 'c');
      await spool.close();
      const [name = ''] = await segments(directory);
      return { directory, file: join(directory, name) };
    }

    const size = Spool.encode(item('c')).length;
    for (const [what, bytes] of [
      ['one byte is missing', 1],
      ['half of the record is missing', Math.floor(size / 2)],
      ['only the mark is there', size - 4],
    ] as const) {
      it(`has everything before the last record, and says what it cut away: ${what}`, async (t) => {
        const { directory, file } = await written(t);
        await truncate(file, (await stat(file)).size - bytes);
        const { spool } = await open(t, directory);
        strictEqual(spool.torn?.problem, 'torn');
        strictEqual(spool.torn?.file, file);
        match(
          spool.torn?.message ?? '',
          new RegExp(`${size - bytes} bytes of a record that was never confirmed were cut away$`),
        );
        await append(spool, 'd');
        deepStrictEqual(await drain(spool), ['a', 'b', 'd']);
      });
    }

    it('with zeros at the end, as a machine leaves it that lost power', async (t) => {
      const { directory, file } = await written(t);
      await appendFile(file, Buffer.alloc(300));
      const { spool } = await open(t, directory);
      strictEqual(spool.torn?.problem, 'torn');
      deepStrictEqual(await drain(spool), ['a', 'b', 'c']);
    });

    it('before its first record was whole has nothing', async (t) => {
      const { directory, file } = await written(t);
      await truncate(file, 7);
      const { spool } = await open(t, directory);
      deepStrictEqual([spool.torn?.problem, spool.items, await segments(directory)], ['torn', 0, []]);
    });
  });

  describe('that is damaged', () => {
    async function damage(t: TestContext, change: (bytes: Buffer) => void, more = 0): Promise<string> {
      const directory = await folder(t);
      const { spool } = await open(t, directory);
      await append(spool, 'a', 'b', 'c');
      const first = await spool.read(1, 1_000_000);
      ok(first);
      for (let n = 0; n < more; n++) await append(spool, 'd');
      await spool.close();
      const [name = ''] = await segments(directory);
      const file = join(directory, name);
      const bytes = await readFile(file);
      change(bytes);
      await writeFile(file, bytes);
      const before = await readdir(directory);
      await rejects(open(t, directory), (error) => {
        ok(error instanceof SpoolError);
        deepStrictEqual([error.problem, error.file], ['damaged', file]);
        match(error.message, /damaged at byte \d+ of \d+; nothing of it was used/);
        return true;
      });
      deepStrictEqual([await readFile(file), await readdir(directory)], [bytes, before], 'nothing was changed');
      return directory;
    }

    const flip = (at: number) => (bytes: Buffer) => {
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    };
    const title = 12 + JSON.stringify({ spool: 1, queue: 'q' }).length;

    it('in the middle is named, and never skipped', async (t) => void (await damage(t, flip(title + 30))));
    it('in a length too: what follows is found', async (t) => void (await damage(t, flip(title + 4))));
    it('in its first record too', async (t) => void (await damage(t, flip(5))));
    it('at the end of a segment that is not the last', async (t) => {
      const last = (bytes: Buffer) => flip(bytes.length - 1)(bytes);
      await damage(t, last, 1);
    });
  });

  describe('belongs to one', () => {
    it('producer of a process', async (t) => {
      const directory = await folder(t);
      await open(t, directory);
      await rejects(open(t, directory), (error) => {
        ok(error instanceof SpoolError);
        strictEqual(error.problem, 'in_use');
        match(error.message, /locks: the directory is in use by this process; each producer needs one of its own$/);
        return true;
      });
    });

    it('process: another one that lives is named', async (t) => {
      const directory = await folder(t);
      const { spool } = await open(t, directory);
      const [lock = ''] = await readdir(join(directory, 'locks'));
      await spool.close();
      // The test runner, which lives, started before; a lock has what tells it apart from later ones with its number.
      const parent = (await readFile(`/proc/${process.ppid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[19];
      const boot = lock.split('_')[1]?.split('+')[0];
      await mkdir(join(directory, 'locks'));
      await writeFile(join(directory, 'locks', `${process.ppid}_${boot}+${parent}_x`), '');
      await rejects(open(t, directory), new RegExp(`in use by process ${process.ppid};`));
    });

    it('process that lives: a lock of one with the same number from before does not count', async (t) => {
      const directory = await folder(t);
      await (await open(t, directory)).spool.close();
      for (const life of ['', 'another boot+1']) {
        await mkdir(join(directory, 'locks'));
        await writeFile(join(directory, 'locks', `${process.ppid}_${life}_x`), '');
        await (await open(t, directory)).spool.close();
      }
      deepStrictEqual(await readdir(directory), ['cursor']);
    });

    it('process, of many that come at once after a crash', async (t) => {
      const directory = await folder(t);
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
      for (let round = 0; round < 8; round += 1) {
        await mkdir(join(directory, 'locks'), { recursive: true });
        // What is left of one that is gone is what they all want to remove.
        await writeFile(join(directory, 'locks', `${process.ppid}_${boot}+1_${round}`), '');
        const taken = await Promise.allSettled(Array.from({ length: 4 }, () => DirectoryLock.take(directory)));
        const locks = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
        ok(locks.length <= 1, `${locks.length} have it`);
        await Promise.all(locks.map((lock) => lock.release()));
      }
    });

    it('queue', async (t) => {
      const directory = await folder(t);
      const { spool } = await open(t, directory);
      await append(spool, 'a');
      await spool.close();
      await rejects(open(t, directory, { queue: 'other' }), (error) => {
        ok(error instanceof SpoolError);
        strictEqual(error.problem, 'other_queue');
        match(error.message, /it has items of queue q, this producer is for other;/);
        return true;
      });
    });
  });

  it('cannot be made where there is a file', async (t) => {
    const directory = await folder(t);
    await writeFile(directory, '');
    await rejects(open(t, directory), (error) => error instanceof SpoolError && error.problem === 'io');
  });

  it('appends nothing more after a failure of the file system, and still hands over what it has', async (t) => {
    const directory = await folder(t);
    const { spool } = await open(t, directory);
    await append(spool, 'a');
    const chunk = await spool.read(1, 1_000_000);
    // The next segment cannot be made: its name is taken.
    await writeFile(join(directory, '0000000002.spool'), '');
    const failed = (error: unknown) => error instanceof SpoolError && error.problem === 'io';
    await rejects(append(spool, 'b'), failed);
    await rejects(append(spool, 'c'), failed);
    ok(spool.broken);
    ok(chunk);
    await spool.advance(chunk);
    strictEqual(spool.items, 0);
  });
});
