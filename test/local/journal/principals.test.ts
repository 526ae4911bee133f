/** S662: rows that name who is charged, and that a version which does not know the name reads them as before. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import type { OutboxRow, TurnRow } from '../../../src/core/contract/rows.js';
import { ByteReader } from '../../../src/local/journal/codec/byte-reader.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import {
  readContentInside,
  readItem,
  readWholeItem,
  writeItem,
  writeWholeItem,
} from '../../../src/local/journal/codec/item-codec.js';
import { keyOf, readRow, type SimpleRow, seedOf, writeRow } from '../../../src/local/journal/codec/row-codec.js';
import { newItem } from '../../support/builders.js';
import { contentOf, itemRow } from './rows.js';

const TURN: TurnRow = {
  table: 'tokens',
  token: 7,
  queue: 'q',
  key: 'k',
  lane: undefined,
  startedAt: 1,
  state: 'live',
  assignment: { kind: 'caller', idempotencyKey: undefined },
  consumerId: 'w',
  ticket: undefined,
  lease: 1,
  since: 2,
  end: 3,
  latestEnd: undefined,
  handed: 'given',
  session: undefined,
};
const PARCEL: OutboxRow = {
  table: 'outbox',
  stamp: 9,
  target: 2,
  from: 'q',
  followUps: [{ queue: 'other', item: newItem({ itemId: 'i' }), target: 2 }],
};
const NAME = 'ada-ä';

function bytesOf(write: (to: ByteWriter) => void): Buffer {
  const writer = new ByteWriter();
  write(writer);
  return Buffer.from(writer.end());
}

function reader(bytes: Buffer): ByteReader {
  const from = new ByteReader();
  from.show({ bytes, size: bytes.length });
  return from;
}

/** The length of the checksum. */
const SUM = 4;

describe('S662: the principal in a row', () => {
  for (const row of [TURN, PARCEL] satisfies readonly SimpleRow[]) {
    it(`of the table ${row.table} comes back, and stands behind all that was there before`, () => {
      const key = keyOf(row);
      const plain = bytesOf((to) => writeRow(to, row, key));
      const named = bytesOf((to) => writeRow(to, { ...row, principal: NAME }, key));
      assert.deepEqual(readRow(reader(plain), row.table, key), row);
      assert.deepEqual(readRow(reader(named), row.table, key), { ...row, principal: NAME });
      assert.ok(named.subarray(SUM).toString('hex').startsWith(plain.subarray(SUM).toString('hex')));
    });
  }

  for (const size of [10, 600])
    it(`of an item with ${size} bytes comes back, between what was there before and the content`, () => {
      const plain = itemRow(3, {
        content: contentOf('x'.repeat(size)),
        idempotencyKey: 'i',
        after: [{ queue: 'q', itemId: 'a' }],
      });
      const row = { ...plain, principal: NAME };
      const seed = seedOf('items', row.seq);
      const { content } = plain;
      assert.ok(content !== undefined);
      const whole = bytesOf((to) => writeWholeItem(to, row, content, seed));
      assert.deepEqual(readWholeItem(reader(whole), row.seq, seed), { ...row, content });
      const inside = bytesOf((to) => void writeItem(to, row, content, seed));
      assert.deepEqual(readItem(reader(inside), row.seq, seed), { ...row, content: undefined });
      assert.deepEqual(readContentInside(reader(inside), seed), size < 512 ? content : undefined);
      // Length of the head and flags apart, the bytes up to the name are those of the row without it.
      const before = bytesOf((to) => writeWholeItem(to, plain, content, seed));
      const head = before.readUInt32LE(SUM);
      const fields = (bytes: Buffer) => bytes.subarray(10, 8 + head).toString('hex');
      assert.equal(fields(whole), fields(before));
      assert.equal((whole[9] ?? 0) & ~64, before[9]);
    });
});
