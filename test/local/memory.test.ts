/** What waited for the disk and was told leaves nothing behind. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Reply } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { enQueueRequest, QUEUE, settings } from '../support/builders.js';
import { FakeClock } from '../support/fake-clock.js';
import { promptClock, promptJournal } from '../support/prompt-journal.js';

const WARM_UP = 1_000;
const CYCLES = 4_000;
/** What a look at the heap may be wrong by; an answer that stays has a hundred bytes and more. */
const NOISE = 200_000;
const LOOKS = 4;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('answers that waited for the disk', () => {
  it(`leave nothing behind: after ${CYCLES} of them the heap is as large as before`, async () => {
    const coordinator = new LocalCoordinator(settings({ queues: { [QUEUE]: { durable: true } } }), {
      clock: promptClock(new FakeClock()),
      seed: 1,
      journal: promptJournal(),
    });
    await coordinator.recover();
    let told = 0;
    const reply: Reply<unknown> = {
      answer: () => {
        told += 1;
        return true;
      },
      refuse: (refusal) => assert.fail(JSON.stringify(refusal)),
    };
    // Its turn is there: by its ticket it is told again each time.
    const run = async (cycles: number) => {
      for (let n = 0; n < cycles; n++) coordinator.enQueue(enQueueRequest({ ticket: 't' }), reply);
      // What the promises of the writes hold goes with them.
      await setImmediate();
      collectGarbage();
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    let before = await run(WARM_UP);
    let grown = Number.POSITIVE_INFINITY;
    // What code and caches take they take once; what is left behind grows each time.
    for (let look = 0; look < LOOKS && grown >= NOISE; look++) {
      const after = await run(CYCLES);
      grown = after - before;
      before = after;
    }
    assert.ok(told > CYCLES);
    assert.ok(grown < NOISE, `${(grown / CYCLES).toFixed(1)} bytes stay of each`);
    await coordinator.close();
  });
});
