import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../support/deferred.js';
import { fates, MemoryDisk } from '../../support/memory-journal.js';
import { isProblem, journalContract, rowsOf } from './contract.js';
import { asRead, itemRow, puts } from './rows.js';

journalContract('the journal in memory', async () => {
  const disk = new MemoryDisk();
  return { open: async () => disk.open() };
});

describe('the journal in memory fails as it is told', () => {
  it('fails the n-th write: nothing of it is there, and it may be written again', async () => {
    const disk = new MemoryDisk();
    disk.fate = fates({ 2: { does: 'fail', problem: 'full' } });
    const journal = disk.open();
    await journal.write(puts([itemRow(1)]), 1);
    await assert.rejects(journal.write(puts([itemRow(2)]), 2), isProblem('full'));
    assert.deepEqual(await rowsOf(journal), [asRead(itemRow(1))]);
    await journal.write(puts([itemRow(2)]), 3);
    assert.deepEqual(disk.past, { lastWrite: 3, rows: 2 });
  });

  for (const applied of [true, false]) {
    it(`tears a write: it rejects, and is ${applied ? '' : 'not '}there`, async () => {
      const disk = new MemoryDisk();
      disk.fate = fates({ 1: { does: 'tear', applied } });
      await assert.rejects(disk.open().write(puts([itemRow(1)]), 1), isProblem('io'));
      assert.equal(disk.rows().length, applied ? 1 : 0);
    });
  }

  it('lets a write wait; after a crash it is never there, and never settles', async () => {
    const gate = deferred();
    const disk = new MemoryDisk();
    disk.fate = fates({ 1: { does: 'wait', until: gate.promise } });
    let settled = false;
    const settle = () => {
      settled = true;
    };
    disk
      .open()
      .write(puts([itemRow(1)]), 1)
      .then(settle, settle);
    disk.crash();
    gate.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(settled, false);
    assert.deepEqual(await rowsOf(disk.open()), []);
  });
});
