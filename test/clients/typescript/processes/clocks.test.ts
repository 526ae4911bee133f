/** Wrong clocks and processes that stand still: only durations count, and who is late is told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serve } from '../../../cli/keyturn-process.js';
import { outcomes, overlaps } from './handlers.js';
import type { Event } from './plan.js';
import { Troupe } from './troupe.js';

const HOUR = 3_600_000;
const SETTINGS = `
queues:
  line: { waiting_per_key: unlimited }
`;

describe('the wall clock of a worker', { timeout: 240_000 }, () => {
  const shifts: readonly (readonly [string, string])[] = [
    ['is an hour ahead', `${HOUR}`],
    ['is ten years behind', `${-10 * 365 * 24 * HOUR}`],
    ['jumps an hour ahead in the middle', `${HOUR}@SIGUSR2`],
    ['jumps an hour back in the middle', `${-HOUR}@SIGUSR2`],
  ];
  for (const transport of ['session', 'unary'] as const) {
    for (const [title, shift] of shifts) {
      it(`${title}, and nothing is different (${transport})`, async (t) => {
        const { address } = await serve(t, SETTINGS);
        const troupe = new Troupe(t);
        const client = { transport };
        // Longer than the lease, which is renewed meanwhile, also after the clock has jumped.
        const play = { name: 'once', queue: 'line', key: 'k', lease: 1_000, ms: 3_000 } as const;
        const worker = troupe.start('shifted', { address, client, seed: 1, play }, shift);
        const shifted = await troupe.sees('it has the turn', (event) => event.what === 'begin');
        if (shift.includes('@')) worker.kill('SIGUSR2');
        troupe.start('right', { address, client, seed: 2, play: { ...play, ms: 10 } });
        const done = (worker: string) => (event: Event) => event.what === 'outcome' && event.worker === worker;
        await troupe.sees('the right one is through', done('right'));
        const [first, second] = troupe.events.filter((event) => event.what === 'begin');
        assert.deepEqual([...outcomes(troupe.events)], [['done', 2]]);
        assert.deepEqual([first?.worker, second?.worker], ['shifted', 'right']);
        assert.ok(second !== undefined && second.at - shifted.at >= play.ms - 50, 'its whole work lay between');
        assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
      });
    }
  }
});

describe('a handler that stands still beyond its lease', { timeout: 240_000 }, () => {
  for (const transport of ['session', 'unary'] as const) {
    it(`is told when it goes on, and its end does not count (${transport})`, async (t) => {
      const { address } = await serve(t, SETTINGS);
      const troupe = new Troupe(t);
      const client = { transport };
      const slow = { name: 'block', queue: 'line', key: 'k', lease: 1_000, ms: 4_000 } as const;
      troupe.start('slow', { address, client, seed: 1, play: slow });
      const begun = await troupe.sees('the slow one has the turn', (event) => event.what === 'begin');
      troupe.start('next', { address, client, seed: 2, play: { name: 'once', queue: 'line', key: 'k', ms: 10 } });
      const fresh = await troupe.sees(
        'the next one has it',
        (event) => event.what === 'begin' && event.worker === 'next',
      );
      const told = await troupe.sees('the slow one is told', (event) => event.what === 'told');
      const lost = await troupe.sees(
        'the slow one gives up',
        (event) => event.what === 'outcome' && event.worker === 'slow',
      );
      // The ledger cannot hold it against anybody that both were at work: that is what the tokens are for.
      assert.ok(begun.what === 'begin' && fresh.what === 'begin' && fresh.token > begun.token);
      assert.ok(fresh.at < told.at, 'the key did not wait for a worker that stood still');
      assert.ok(
        lost.what === 'outcome' && /^TurnLostError (lease_expired|unreachable)$/.test(lost.outcome),
        JSON.stringify(lost),
      );
      assert.deepEqual(await troupe.finish(), []);
    });
  }
});
