/**
 * The library alone, with its own settings: puts records, each awaited until it is flushed. Arguments: a directory, how
 * many records a lap has, how many are in flight. Whatever it is told it does a lap, and answers how many were put per
 * second.
 */
import { open } from 'lmdb';
import { ByteWriter } from '../../src/local/journal/codec/byte-writer.js';
import { encode } from '../../src/local/journal/lmdb/batch.js';
import { keyOf } from '../coordinator.js';
import { itemRow, KEYS, PAYLOAD } from '../load/backlog.js';
import { perSecondInFlight } from '../load/in-flight.js';

const [path = '', records = '', inFlight = ''] = process.argv.slice(2);

interface StoredRecord {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** The bytes that the journal of a sidecar writes for as many items, made before the time counts. */
function makeRecords(from: number, count: number): StoredRecord[] {
  const rows = Array.from({ length: count }, (_, i) => ({ put: itemRow(from + i, keyOf((from + i) % KEYS), PAYLOAD) }));
  return encode(new ByteWriter(), rows, false).writes.map(({ key, value }) => {
    if (typeof key !== 'number' || value === undefined) throw new TypeError('no row of an item');
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(key));
    return { key: bytes, value };
  });
}

const file = open<Buffer, Buffer>({ path, noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
let put = 0;

async function lap(): Promise<number> {
  const made = makeRecords(put, Number(records));
  put += made.length;
  return perSecondInFlight(made.length, Number(inFlight), async (index) => {
    const record = made[index];
    if (record === undefined) throw new RangeError('no record');
    await file.put(record.key, record.value);
    await file.flushed;
  });
}

process.on('message', () => {
  lap().then((rate) => process.send?.(rate));
});
process.once('disconnect', () => process.exit(1));
process.send?.('ready');
