/** What only an engine in memory can be made to do while a partition is read ahead. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PartitionAhead } from '../../src/cluster/store/cluster-store.js';
import { RowsAhead } from '../../src/cluster/store/partition/rows-ahead.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { FakeEngine } from '../support/cluster/fake-engine.js';
import { FakeClock } from '../support/fake-clock.js';
import { claim, RECORD, rowsOf } from './store-place.js';

/** A partition with one item, of which the rows are about to be read ahead, request after request. */
async function scene() {
  const clock = new FakeClock();
  const engine = new FakeEngine(clock);
  const [a, b] = [engine.open('a'), engine.open('b')];
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      clock.advance(10);
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
  };
  const during = async <T>(promise: Promise<T>): Promise<T> => {
    const over = promise.finally(() => undefined);
    await pass(100);
    return over;
  };
  await during(a.record(RECORD));
  await during(b.record(RECORD));
  const claimed = await during(claim(a));
  const home = a.open(claimed);
  await during(home.write(puts([itemRow(1, { id: 'before' })]), 1));
  b.wire.fault = () => ({ there: 500, back: 0 });
  let ahead: PartitionAhead | undefined;
  const reading = b
    .readAhead(0, () => true)
    .then((read) => {
      ahead = read;
    });
  const next = async () => {
    const answer = await during(claim(b, { expected: engine.guard(0).owner, member: 'b' }));
    return during(rowsOf(b.open(answer, ahead)));
  };
  return { clock, engine, home, b, pass, during, reading, next, isRead: () => ahead !== undefined };
}

describe('rows that are read ahead', () => {
  it('S384: are not used when the store lost, unnoticed, a batch that was read', async () => {
    const { engine, home, b, pass, during, reading, next } = await scene();
    // It follows.
    await pass(500);
    await during(home.write(puts([itemRow(1, { id: 'lost' })]), 2));
    // The names of the rows, and the rows.
    await pass(1_000);
    engine.failOver(1, () => false);
    await pass(2_000);
    await reading;
    b.wire.fault = () => ({});
    assert.deepEqual(await next(), [itemRow(1, { id: 'before' })]);
  });

  it('S384: are used when the same batch was not lost', async () => {
    const { engine, home, b, pass, during, reading, next, isRead } = await scene();
    await pass(500);
    await during(home.write(puts([itemRow(1, { id: 'there' })]), 2));
    await pass(2_000);
    await reading;
    b.wire.fault = () => ({});
    assert.ok(isRead());
    assert.deepEqual(await next(), [itemRow(1, { id: 'there' })]);
    assert.equal(engine.usedAhead, 1);
  });

  it('S438: are not read on once nobody wants them, and the reading is closed', async () => {
    const did: string[] = [];
    const SLICES = 9;
    const source = {
      follow: async () => ({ id: 'it', seq: 1 }),
      followed: async () => ({ seq: 1, batches: [] }),
      async *readAhead() {
        try {
          for (let slice = 1; slice <= SLICES; slice += 1) {
            did.push(`slice ${slice}`);
            yield [];
          }
        } finally {
          did.push('closed');
        }
      },
    };
    assert.ok((await RowsAhead.read(source, 0, 'there', () => true)) !== undefined);
    assert.equal(did.splice(0).length, SLICES + 1);
    assert.equal(await RowsAhead.read(source, 0, 'there', () => did.length < 3), undefined);
    assert.deepEqual(did.splice(0), ['slice 1', 'slice 2', 'slice 3', 'closed']);
    assert.equal(await RowsAhead.read(source, 0, 'there', () => false), undefined);
    assert.deepEqual(did, []);
  });
});
