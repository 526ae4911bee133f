/**
 * S171: format 1, byte for byte. What this version writes is what every version of the format reads; a change here is one
 * of the format.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { RowChange } from '../../../src/core/contract/rows.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { encode } from '../../../src/local/journal/lmdb/batch.js';
import { DISK_TABLES, type DiskTable } from '../../../src/local/journal/lmdb/tables.js';
import { ALL_KINDS, contentOf, itemRow, puts } from './rows.js';

const CHUNK = 512 * 1_024;

function print(changes: readonly RowChange[], writer = new ByteWriter()): string {
  const { writes } = encode(writer, changes, false);
  const lines = writes.map(({ table, key, value }) => {
    const name = typeof key === 'number' ? key : key.toString('hex');
    return `${table} ${name} ${value?.toString('hex') ?? 'removed'}`;
  });
  return lines.join('\n');
}

describe('the bytes of rows', () => {
  const HASHES: Readonly<Record<DiskTable, string>> = {
    floor: '3b1d7d885da5f3d4',
    pauses: '11f8fc9ed42313dc',
    sessions: '9a53630aa161584c',
    tokens: 'a7ae7473c4d9d88f',
    keys: 'd5b0762309140282',
    parks: 'f10ad38a87f731bc',
    progress: '4a3c930b4a1cabc3',
    items: 'cf1bf50a06f76de6',
    leaders: '09a4f2fa664cb2dd',
  };
  for (const table of DISK_TABLES) {
    it(`of the table ${table} are as ever`, () => {
      const rows = ALL_KINDS.filter((row) => row.table === table);
      const hash = createHash('sha256')
        .update(print(puts(rows)))
        .digest('hex');
      assert.equal(hash.slice(0, 16), HASHES[table]);
    });
  }

  for (const value of [-1, 0.5, 2 ** 53, Number.NaN])
    it(`are none for ${value} where a whole number from 0 is wanted`, () =>
      assert.throws(() => new ByteWriter().whole(value), RangeError));

  it('hold nothing of the batch before, where a row leaves bytes free', () => {
    const writer = new ByteWriter();
    const rows = ALL_KINDS.filter((row) => row.table === 'items');
    const first = print(puts(rows), writer);
    encode(writer, puts([itemRow(1, { content: contentOf('\u00ff'.repeat(10_000)) })]), false);
    assert.equal(print(puts(rows), writer), first);
  });

  it('stand in memory that the next batch uses again, but for what a large one needed', () => {
    const writer = new ByteWriter();
    const memoryOf = (size: number) => {
      const row = itemRow(1, { content: contentOf('x'.repeat(size)) });
      const { writes } = encode(writer, puts([row]), false);
      return writes.at(-1)?.value?.buffer;
    };
    const small = memoryOf(10);
    assert.equal(small?.byteLength, CHUNK);
    assert.equal(memoryOf(10), small);
    const large = memoryOf(CHUNK * 2);
    assert.ok(large !== undefined && large.byteLength > CHUNK * 2);
    const after = memoryOf(10);
    assert.equal(after?.byteLength, CHUNK, 'the large one is given back');
    assert.equal(memoryOf(10), after);
  });
});
