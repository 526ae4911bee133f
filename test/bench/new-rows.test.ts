/** Rows of the benchmark in a small form: what they measure is there, and nothing of a machine is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEEPING_PEERS } from '../../bench/load/kept-items.js';
import { type Figure, lineOf } from '../../bench/measure.js';
import { hasRedis, REDIS } from '../../bench/peers/redis.js';
import { bestOf, comparePeers, figuresOf } from '../../bench/rows/durablepeers.js';
import { measureBeats, measureYields } from '../../bench/rows/leader.js';
import { measureOpenLoop } from '../../bench/rows/openloop.js';
import { compareSockets } from '../../bench/rows/socket.js';
import { compareWorkers } from '../../bench/rows/workers.js';

const PLAN = { rounds: 1, laps: 1 };
const silent = () => {};

/** In continuous integration nothing is missing. */
async function isHere(isThere: () => Promise<boolean>): Promise<boolean> {
  const here = await isThere();
  assert.ok(here || process.env['CI'] !== 'true', 'a peer is missing: .ci/debian-packages installs it');
  return here;
}

/** All parts in their order, each measured so often, with a value above zero, and its peer's where there is one. */
function mustBeMeasured(figures: readonly Figure[], parts: readonly (string | undefined)[], rounds = 1): void {
  assert.deepEqual(
    figures.map(({ part }) => part),
    parts,
  );
  for (const figure of figures) {
    assert.equal(figure.outcome.is, 'measured', figure.part);
    if (figure.outcome.is !== 'measured') continue;
    assert.equal(figure.outcome.rounds.length, rounds);
    for (const { value, peer } of figure.outcome.rounds) {
      assert.ok(value > 0, `${figure.part}: ${value}`);
      assert.equal(peer === undefined, figure.peer === undefined);
      assert.ok(peer === undefined || peer > 0, `${figure.part}: peer ${peer}`);
    }
  }
}

test('workers: pairs on several sessions against locks over as many connections', async () => {
  const figure = await compareWorkers({ plan: PLAN, sessions: 4, each: 2, pairs: 200 }, silent);
  if (await isHere(hasRedis)) mustBeMeasured([figure], [undefined]);
  else assert.deepEqual(figure.outcome, { is: 'missing', ...REDIS });
  assert.match(figure.what, /on 4 sessions, a connection each, 2 turns in flight/);
});

test('openloop: half of the items and 99 % of them wait no longer than is told, and never less than nothing', async () => {
  const offered = { items: 300, perSecond: 1_000, keys: 20, slowOfThousand: 20, slowMs: 20 };
  const figures = await measureOpenLoop(offered, PLAN, silent);
  mustBeMeasured(figures, ['p50', 'p99']);
  const [p50, p99] = figures.map((figure) => lineOf('openloop', figure).value ?? 0);
  assert.ok((p50 ?? 0) <= (p99 ?? 0));
});

test('socket: unary calls and pairs over a Unix socket and over TCP, a call beside a command of Redis', async () => {
  const figures = await compareSockets({ plan: PLAN, calls: 20, pairs: 500 }, silent);
  mustBeMeasured(figures.slice(0, 2), ['unary', 'session']);
  if (await isHere(hasRedis)) mustBeMeasured(figures.slice(2), ['unary, Redis']);
  else assert.deepEqual(figures[2]?.outcome, { is: 'missing', ...REDIS });
});

test('leader: each yield is followed by an inauguration, each beat is heard', async () => {
  mustBeMeasured(await measureYields(5, PLAN, silent), ['p50', 'p99']);
  mustBeMeasured([await measureBeats(1, PLAN, silent)], ['beats, pause']);
});

test('durablepeers: each peer that is there is measured, one that is not is named with what installs it', async () => {
  const figures = await comparePeers({ plan: PLAN, lap: 50 }, silent);
  const peers = Object.entries(KEEPING_PEERS);
  assert.equal(figures.length, 2 * peers.length);
  for (const [name, { isThere, program }] of peers) {
    const own = figures.filter(({ part }) => part?.endsWith(`, ${name}`));
    if (await isHere(isThere)) mustBeMeasured(own, [`1 a batch, ${name}`, `100 a batch, ${name}`]);
    else for (const { outcome } of own) assert.deepEqual(outcome, { is: 'missing', ...program });
  }
});

test('durablepeers: the best peer is judged by, the others are told; one that is missing might have been the best', () => {
  const rounds = (peer: number) => [{ value: 3, peer }];
  const measured = new Map([
    ['beanstalkd', rounds(1)],
    ['PostgreSQL', rounds(2)],
  ] as const);
  assert.equal(bestOf(measured), 'PostgreSQL');
  const figures = figuresOf({ items: 1, inFlight: 256 }, measured);
  assert.deepEqual(
    figures.map(({ outcome, enough, aim }) => [outcome.is, enough, aim]),
    [
      ['measured', undefined, undefined],
      ['missing', 1.5, 4],
      ['measured', 1.5, 4],
    ],
  );
  assert.equal(bestOf(new Map()), undefined);
});
