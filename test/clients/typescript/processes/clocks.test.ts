/** Wrong clocks and processes that stand still: only durations count, and who is late is told. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../cli/keyturn-process.js';
import { localCoordinator } from '../../../support/local-coordinator.js';
import { startSidecar } from '../../../support/sidecar.js';
import { outcomes, overlaps } from './handlers.js';
import type { Event } from './plan.js';
import { Troupe } from './troupe.js';

const HOUR = 3_600_000;
const TRANSPORTS = ['session', 'unary'] as const;
/** The cases wait for leases most of the time, and have keys of their own: they share a sidecar, and run at once. */
const AT_ONCE = { timeout: 240_000, concurrency: true };

async function addressOfSidecar(t: TestContext): Promise<string> {
  const coordinator = localCoordinator(t, { policy: { waitingPerKey: 'unlimited' } });
  return (await startSidecar(t, coordinator)).address;
}

const SHIFTS: readonly (readonly [string, string])[] = [
  ['is an hour ahead', `${HOUR}`],
  ['is ten years behind', `${-10 * 365 * 24 * HOUR}`],
  ['jumps an hour ahead in the middle', `${HOUR}@SIGUSR2`],
  ['jumps an hour back in the middle', `${-HOUR}@SIGUSR2`],
];

test('the wall clock of a worker', AT_ONCE, async (t) => {
  const address = await addressOfSidecar(t);
  const cases = SHIFTS.map(([title, shift]) =>
    t.test(`${title}, and nothing is different (session and unary)`, (t) => isNoDifferent(t, address, title, shift)),
  );
  await Promise.all(cases);
});

async function isNoDifferent(t: TestContext, address: string, title: string, shift: string): Promise<void> {
  const troupe = new Troupe(t);
  // Longer than the lease, which is renewed meanwhile, also after the clock has jumped.
  const play = { name: 'once', queue: 'line', lease: 6_000, ms: 8_000 } as const;
  const plansWith = (ms: number, seed: number) =>
    TRANSPORTS.map((transport) => {
      const key = `${title}, ${transport}`;
      return { address, client: { transport }, seed, play: { ...play, key, ms } };
    });
  const plans = plansWith(play.ms, 1);
  const worker = troupe.start('shifted', plans, shift);
  const keys = plans.map(({ play: { key } }) => key);
  const begins = (key: string) => troupe.events.filter((event) => event.what === 'begin' && event.key === key);
  await troupe.until('it has both turns', () => keys.every((key) => begins(key).length === 1));
  if (shift.includes('@')) worker.kill('SIGUSR2');
  troupe.startHere('right', plansWith(10, 2));
  const through = (key: string) => (event: Event) =>
    event.what === 'outcome' && event.worker === 'right' && event.key === key;
  for (const key of keys) await troupe.sees(`the right one is through with ${key}`, through(key));
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
  assert.deepEqual([...outcomes(troupe.events)], [['done', 4]]);
  for (const key of keys) {
    const [first, second] = begins(key);
    assert.deepEqual([first?.worker, second?.worker], ['shifted', 'right']);
    assert.ok(first !== undefined && second !== undefined);
    assert.ok(second.at - first.at >= play.ms - 50, 'its whole work lay between');
  }
}

test('a handler that stands still beyond its lease', AT_ONCE, async (t) => {
  const address = await addressOfSidecar(t);
  const cases = TRANSPORTS.map((transport) =>
    t.test(`is told when it goes on, and its end does not count (${transport})`, (t) => isTold(t, address, transport)),
  );
  await Promise.all(cases);
});

async function isTold(t: TestContext, address: string, transport: (typeof TRANSPORTS)[number]): Promise<void> {
  const troupe = new Troupe(t);
  const goOn = join(await temporaryFolder(t), 'go-on');
  const where = { queue: 'line', key: transport };
  const common = { address, client: { transport }, seed: 1 };
  troupe.start('slow', [{ ...common, play: { name: 'block', ...where, lease: 2_000, until: goOn } }]);
  const begun = await troupe.sees('the slow one has the turn', (event) => event.what === 'begin');
  troupe.startHere('next', [{ ...common, play: { name: 'once', ...where, ms: 10 } }]);
  const isNext = (event: Event) => event.what === 'begin' && event.worker === 'next';
  const fresh = await troupe.sees('the next one has it', isNext);
  const before = troupe.events.some(({ what, worker }) => what === 'told' && worker === 'slow');
  assert.equal(before, false, 'the key did not wait for a worker that stood still');
  writeFileSync(goOn, '');
  await troupe.sees('the slow one is told', (event) => event.what === 'told');
  const isLost = (event: Event) => event.what === 'outcome' && event.worker === 'slow';
  const lost = await troupe.sees('the slow one gives up', isLost);
  // The ledger cannot hold it against anybody that both were at work: that is what the tokens are for.
  assert.ok(begun.what === 'begin' && fresh.what === 'begin' && fresh.token > begun.token);
  assert.ok(
    lost.what === 'outcome' && /^TurnLostError (lease_expired|unreachable)$/.test(lost.outcome),
    JSON.stringify(lost),
  );
  assert.deepEqual(await troupe.finish(), []);
}
