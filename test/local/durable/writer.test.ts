import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JournalWriter } from '../../../src/local/durable/writer.js';
import { type Journal, JournalError, type JournalProblem } from '../../../src/local/journal/journal.js';
import { FakeClock } from '../../support/fake-clock.js';
import { MemoryDisk, MemoryJournal } from '../../support/memory-journal.js';

const CASES: readonly (readonly [string, JournalProblem, number | undefined, readonly number[]])[] = [
  ['a disk', 'io', undefined, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]],
  ['a store behind a network that is broken', 'io', 500, [100, 200, 400, 500, 500]],
  ['a store behind a network that is full', 'full', 500, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]],
];

describe('S353: how long a write that failed waits until it is tried again', () => {
  for (const [name, problem, longestPause, pauses] of CASES)
    it(name, async () => {
      const clock = new FakeClock();
      let writes = 0;
      const write: Journal['write'] = () => {
        writes += 1;
        return Promise.reject(new JournalError(problem, 'it is made to fail'));
      };
      const journal: Journal = Object.assign(
        new MemoryJournal(new MemoryDisk()),
        longestPause === undefined ? { write } : { write, longestPause },
      );
      const writer = new JournalWriter(journal, clock, { flushed: () => assert.fail(), failed: () => undefined });
      const settled = () => new Promise((resolve) => setImmediate(resolve));
      writer.write({ changes: [], instant: 0, items: [], floor: undefined, outgoing: [] });
      await settled();
      for (const [at, pause] of pauses.entries()) {
        clock.advance(pause - 1);
        await settled();
        assert.equal(writes, at + 1);
        clock.advance(1);
        await settled();
        assert.equal(writes, at + 2);
      }
      writer.stop();
    });
});
