/** A sidecar that is killed under working clients, as a process, by SIGKILL, and started again on the same port. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { type Serving, serve } from '../../../cli/keyturn-process.js';
import { outcomes, overlaps } from './handlers.js';
import type { Event, Plan } from './plan.js';
import { Troupe } from './troupe.js';

/** Longer than sessions live (10 s, as they do unless told otherwise) and than leases. */
const RESTARTED = `
startup_hold: 12s
default: { lease: 10s }
queues:
  line: { waiting_per_key: unlimited }
`;
const FRESH = RESTARTED.replace('startup_hold: 12s', '');
/** Turns that outlive a sidecar's way back also where everything is busy, which takes it five seconds and more. */
const PATIENT = 24_000;
const RESTARTED_PATIENT = RESTARTED.replace('12s', '26s').replace('10s', '24s');

const KEYS = Array.from({ length: 12 }, (_, n) => `key-${n}`);
/** Longer than a sidecar takes to be back. */
const LONG_WORK = 6_000;

/** All that a caller may be told: its answer, or that the sidecar is away, or that its turn is lost. */
const CLEAR = /^(done|declined|blocked|TurnLostError \w+|KeyturnError (UNAVAILABLE|DEADLINE_EXCEEDED)( \w+)?)$/;

type Begin = Extract<Event, { what: 'begin' }>;

async function killSidecar({ child }: Serving): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Handlers that are at work now, long ones only. */
function longAtWork(events: readonly Event[], long = LONG_WORK): readonly Begin[] {
  const over = new Set(events.flatMap((event) => (event.what === 'end' ? [event.token] : [])));
  return events.filter(
    (event): event is Begin => event.what === 'begin' && event.ms === long && !over.has(event.token),
  );
}

function company(t: TestContext, address: string, client: Plan['client']): Troupe {
  const troupe = new Troupe(t);
  addCompany(troupe, address, client, LONG_WORK);
  return troupe;
}

function addCompany(troupe: Troupe, address: string, client: Plan['client'], longWork: number): void {
  const play = { name: 'turns', queue: 'line', keys: KEYS, concurrency: 6, longWork } as const;
  for (const seed of [11, 12, 13]) troupe.start(`worker ${seed}`, { address, seed, ...(client && { client }), play });
}

function assertClear(troupe: Troupe): void {
  for (const [outcome, count] of outcomes(troupe.events)) assert.match(outcome, CLEAR, `${count} times`);
}

describe('a sidecar that is killed under working clients', { timeout: 240_000 }, () => {
  for (const transport of ['session', 'unary'] as const) {
    it(`and started again at once keeps their turns (${transport}): nobody is disturbed, nobody comes in between`, async (t) => {
      const first = await serve(t, FRESH.replace('10s', '24s'));
      const troupe = company(t, first.address, { transport, sessionTtl: PATIENT });
      await troupe.until('three have just begun with long works', () => longAtWork(troupe.events).length >= 3);
      const atWork = longAtWork(troupe.events).slice(-1);
      await killSidecar(first);
      const killed = troupe.events.length;
      await serve(t, RESTARTED_PATIENT, first.address);
      for (const { token } of atWork) {
        const ended = await troupe.sees(
          'the last long work has ended, or was told to stop',
          (event) => (event.what === 'outcome' || event.what === 'told') && event.token === token,
        );
        assert.equal(ended.what === 'outcome' ? ended.outcome : JSON.stringify(ended), 'done');
      }
      const after = () => troupe.events.slice(killed);
      await troupe.until('new turns are given', () => (outcomes(after()).get('done') ?? 0) > 30);
      assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
      assertClear(troupe);
    });
  }

  it('and stays away tells every handler in time, and serves them all when it is back', async (t) => {
    const first = await serve(t, FRESH);
    const troupe = new Troupe(t);
    const held = KEYS.slice(0, 3);
    for (const [n, key] of held.entries())
      troupe.start(`holder ${n}`, {
        address: first.address,
        seed: n,
        play: { name: 'once', queue: 'line', key, ms: 600_000 },
      });
    await troupe.until('they hold their keys', () => longAtWork(troupe.events, 600_000).length === held.length);
    // The others' works are all short: one that is given new turns later must not be busy for ever with its first ones.
    addCompany(troupe, first.address, undefined, 30);
    await troupe.until('the others work', () => (outcomes(troupe.events).get('done') ?? 0) > 0);
    await killSidecar(first);
    for (const { key, token } of longAtWork(troupe.events, 600_000))
      await troupe.sees(`the handler of ${key} is told`, (event) => event.what === 'told' && event.token === token);
    const killed = troupe.events.length;
    await serve(t, RESTARTED, first.address);
    const after = () => troupe.events.slice(killed);
    await troupe.until('new turns are given', () => (outcomes(after()).get('done') ?? 0) > 30);
    const keysAfter = () => new Set(after().flatMap((event) => (event.what === 'begin' ? [event.key] : [])));
    await troupe.until('those of the held keys too', () => held.every((key) => keysAfter().has(key)));
    assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
    assertClear(troupe);
  });

  it('loses the items that it kept in memory, and its consumers go on with new ones', async (t) => {
    const first = await serve(t, FRESH);
    const troupe = new Troupe(t);
    const play = { name: 'items', queue: 'jobs', concurrency: 4, work: 20 } as const;
    const { address } = first;
    for (const seed of [1, 2]) troupe.start(`worker ${seed}`, { address, seed, play });
    const items = (round: string) =>
      Array.from({ length: 60 }, (_, n) => ({ key: `key-${n % 7}`, itemId: `${round}-${n}` }));
    const runs = () => troupe.events.flatMap((event) => (event.what === 'begin' ? [event.item] : []));
    await first.client.submit({ queue: 'jobs', items: items('before') });
    await troupe.until('some are done', () => runs().length > 20);
    await killSidecar(first);
    const second = await serve(t, FRESH, address);
    await second.client.submit({ queue: 'jobs', items: items('after') });
    for (const { itemId } of items('after')) {
      const { state } = await second.client.awaitItem({ queue: 'jobs', itemId, wait: 60_000 });
      assert.equal(state, 'done', itemId);
    }
    const again = runs().filter((item) => item?.startsWith('after'));
    const expected = items('after').map(({ itemId }) => itemId);
    assert.deepEqual(again.toSorted(), expected.toSorted(), 'each of them once');
    assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
  });
});
