/** A sidecar that is killed under working clients, as a process, by SIGKILL, and started again on the same port. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type Serving, serve } from '../../../cli/keyturn-process.js';
import { outcomes, overlaps } from './handlers.js';
import type { Event, Plan } from './plan.js';
import { Troupe } from './troupe.js';

/** Sessions and leases, ms: turns outlive a sidecar's way back also where everything is busy, which takes it five seconds. */
const PATIENT = 15_000;
/** For a sidecar that stays away until all turns are over, ms. */
const SHORT = 8_000;
/** Longer than a sidecar takes to be back where nothing else is busy, ms. */
const LONG_WORK = 4_000;
const KEYS = Array.from({ length: 12 }, (_, n) => `key-${n}`);
const TRANSPORTS = ['session', 'unary'] as const;
/** They wait for leases most of the time. */
const AT_ONCE = { timeout: 240_000, concurrency: true };

function settings(lease: number): string {
  return `
default: { lease: ${lease}ms }
queues:
  line: { waiting_per_key: unlimited }
`;
}

/** Turns of the run before are waited for: longer than sessions live, and than leases. */
function settingsOfTheNext(lease: number): string {
  return `startup_hold: ${lease + 1_000}ms\n${settings(lease)}`;
}

/** All that a caller may be told: its answer, or that the sidecar is away, or that its turn is lost. */
const CLEAR = /^(done|declined|blocked|TurnLostError \w+|KeyturnError (UNAVAILABLE|DEADLINE_EXCEEDED)( \w+)?)$/;

type Begin = Extract<Event, { what: 'begin' }>;

async function killSidecar({ child }: Serving): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Handlers that are at work now, long ones only. */
function longAtWork(events: readonly Event[], long: number): readonly Begin[] {
  const over = new Set(events.flatMap((event) => (event.what === 'end' ? [event.token] : [])));
  return events.filter(
    (event): event is Begin => event.what === 'begin' && event.ms === long && !over.has(event.token),
  );
}

/** Workers of both transports on the same keys. */
function startCompany(troupe: Troupe, address: string, sessionTtl: number, longWork: number): void {
  const play = { name: 'turns', queue: 'line', keys: KEYS, concurrency: 6, longWork } as const;
  for (const transport of TRANSPORTS)
    troupe.startHere(
      transport,
      [11, 12].map((seed): Plan => ({ address, seed, client: { transport, sessionTtl }, play })),
    );
}

async function assertWell(troupe: Troupe): Promise<void> {
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
  for (const [outcome, count] of outcomes(troupe.events)) assert.match(outcome, CLEAR, `${count} times`);
}

test('a sidecar that is killed under working clients, and started again at once', AT_ONCE, async (t) => {
  const first = await serve(t, settings(PATIENT));
  const { address } = first;
  const [onTurns, onItems] = [new Troupe(t), new Troupe(t)];
  startCompany(onTurns, address, PATIENT, LONG_WORK);
  const play = { name: 'items', queue: 'jobs', concurrency: 4, work: 20 } as const;
  onItems.startHere(
    'consumers',
    [1, 2].map((seed) => ({ address, seed, play })),
  );
  await first.client.submit({ queue: 'jobs', items: items('before') });
  await onItems.until('some are done', () => runs(onItems).length > 20);
  const atWork = (transport: string) =>
    longAtWork(onTurns.events, LONG_WORK).filter(({ worker }) => worker === transport);
  await onTurns.until('two of each have just begun with long works', () =>
    TRANSPORTS.every((transport) => atWork(transport).length >= 2),
  );
  const last = TRANSPORTS.flatMap((transport) => atWork(transport).slice(-1));
  await killSidecar(first);
  const killed = onTurns.events.length;
  const second = await serve(t, settingsOfTheNext(PATIENT), address);
  await Promise.all([
    t.test('keeps their turns (session and unary): nobody is disturbed, nobody comes in between', () =>
      keepsTurns(onTurns, last, killed),
    ),
    t.test('loses the items that it kept in memory, and its consumers go on with new ones', () =>
      losesItems(onItems, second),
    ),
  ]);
});

async function keepsTurns(troupe: Troupe, last: readonly Begin[], killed: number): Promise<void> {
  assert.equal(last.length, TRANSPORTS.length);
  for (const { token, worker } of last) {
    const ended = await troupe.sees(
      `the last long work of ${worker} has ended, or was told to stop`,
      (event) => (event.what === 'outcome' || event.what === 'told') && event.token === token,
    );
    assert.equal(ended.what === 'outcome' ? ended.outcome : JSON.stringify(ended), 'done');
  }
  const done = (transport: string) =>
    outcomes(troupe.events.slice(killed).filter(({ worker }) => worker === transport)).get('done') ?? 0;
  await troupe.until('new turns are given', () => TRANSPORTS.every((transport) => done(transport) > 30));
  await assertWell(troupe);
}

async function losesItems(troupe: Troupe, second: Serving): Promise<void> {
  await second.client.submit({ queue: 'jobs', items: items('after') });
  for (const { itemId } of items('after')) {
    const { state } = await second.client.awaitItem({ queue: 'jobs', itemId, wait: 60_000 });
    assert.equal(state, 'done', itemId);
  }
  const again = runs(troupe).filter((item) => item?.startsWith('after'));
  const expected = items('after').map(({ itemId }) => itemId);
  assert.deepEqual(again.toSorted(), expected.toSorted(), 'each of them once');
  assert.deepEqual([await troupe.finish(), overlaps(troupe.events)], [[], []]);
}

function items(round: string): readonly { readonly key: string; readonly itemId: string }[] {
  return Array.from({ length: 60 }, (_, n) => ({ key: `key-${n % 7}`, itemId: `${round}-${n}` }));
}

function runs(troupe: Troupe): readonly (string | undefined)[] {
  return troupe.events.flatMap((event) => (event.what === 'begin' ? [event.item] : []));
}

test('a sidecar that is killed under working clients and stays away', AT_ONCE, async (t) => {
  await t.test('tells every handler in time, and serves them all when it is back', staysAway);
});

async function staysAway(t: TestContext): Promise<void> {
  const first = await serve(t, settings(SHORT));
  const { address } = first;
  const troupe = new Troupe(t);
  const held = KEYS.slice(0, 3);
  const holders = held.map((key, seed): Plan => {
    return { address, seed, client: { sessionTtl: SHORT }, play: { name: 'once', queue: 'line', key, ms: 600_000 } };
  });
  troupe.startHere('holders', holders);
  await troupe.until('they hold their keys', () => longAtWork(troupe.events, 600_000).length === held.length);
  // The others' works are all short: one that is given new turns later must not be busy for ever with its first ones.
  startCompany(troupe, address, SHORT, 30);
  await troupe.until('the others work', () => (outcomes(troupe.events).get('done') ?? 0) > 0);
  await killSidecar(first);
  for (const { key, token } of longAtWork(troupe.events, 600_000))
    await troupe.sees(`the handler of ${key} is told`, (event) => event.what === 'told' && event.token === token);
  const killed = troupe.events.length;
  await serve(t, settingsOfTheNext(SHORT), address);
  const after = () => troupe.events.slice(killed);
  await troupe.until('new turns are given', () => (outcomes(after()).get('done') ?? 0) > 30);
  const keysAfter = () => new Set(after().flatMap((event) => (event.what === 'begin' ? [event.key] : [])));
  await troupe.until('those of the held keys too', () => held.every((key) => keysAfter().has(key)));
  await assertWell(troupe);
}
