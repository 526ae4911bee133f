/** A store that lost more than can be sent again is written anew from the core: with all rows, and with nothing else. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decode } from '../../../src/cluster/store/partition/encode.js';
import type { Row } from '../../../src/core/contract/rows.js';
import type { HomeCoordinator } from '../../../src/local/home.js';
import { ByteReader } from '../../../src/local/journal/codec/byte-reader.js';
import { Chance } from '../../sim/random.js';
import { ackRequest, nackRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { seedsOf } from '../../support/runs.js';
import { MembersStage, workerAt } from './stage.js';

const STEPS = 120;
const RETRY = { initial: 50, factor: 2, max: 400, maxAttempts: 3, jitter: 'none' } as const;
const QUEUES = {
  q: { durable: true, wait: 500, retry: RETRY, lease: 1_000, idempotencyTtl: 60_000, resultTtl: 60_000 },
  once: { durable: true, delivery: 'at_most_once', resultTtl: 60_000, lease: 1_000 },
  parks: { durable: true, onDeadLetter: 'park', retry: { ...RETRY, maxAttempts: 1 }, lease: 1_000 },
} as const;

/** What of a row may be told otherwise: an open item as it is now instead of as it was, with its progress. */
function nameOf(row: Row): string {
  switch (row.table) {
    case 'items':
    case 'progress':
      return `${row.table} ${row.seq}`;
    case 'tokens':
      return `tokens ${row.token}`;
    case 'keys':
      return JSON.stringify(['keys', row.queue, row.key, row.idempotencyKey]);
    case 'parks':
      return JSON.stringify(['parks', row.queue, row.key, row.lane ?? null]);
    case 'pauses':
    case 'limits':
      return `${row.table} ${row.queue}`;
    case 'leaders':
      return `leaders ${row.group}`;
    case 'sessions':
      return `sessions ${row.id}`;
    case 'outbox':
      return `outbox ${row.stamp}`;
    case 'inbox':
      return `inbox ${row.source}`;
    case 'floor':
      return 'floor';
  }
}

function stored(stage: MembersStage): readonly Row[] {
  return decode(new ByteReader(), stage.store.read(0, stage.store.guard(0).owner), 'the test');
}

function plain(rows: readonly Row[]): Readonly<Record<string, unknown>> {
  const told = rows
    .filter(({ table }) => table !== 'floor' && table !== 'progress')
    .filter((row) => row.table !== 'items' || row.state !== 'open')
    .map((row) => [nameOf(row), JSON.parse(JSON.stringify(row))] as const);
  return Object.fromEntries(told.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Random commands of all kinds that leave rows. */
class Life {
  readonly #taken: { queue: string; key: string; token: number }[] = [];
  #ids = 0;

  constructor(
    private readonly stage: MembersStage,
    private readonly chance: Chance,
    private readonly home: HomeCoordinator,
  ) {}

  async step(): Promise<void> {
    const { chance, home, stage } = this;
    const queue = chance.of('q', 'q', 'once', 'parks');
    const key = chance.of('', 'a', 'b', 'c');
    const worker = workerAt(stage.only.member);
    const lot = chance.int(0, 9);
    if (lot < 4) this.#submit(queue, key);
    else if (lot < 7) {
      const call = worker.acquire({ queues: [queue], maxTurns: chance.int(1, 3), maxItemsPerTurn: chance.int(1, 2) });
      await stage.pass(20);
      if (call.outcome !== undefined && 'answer' in call.outcome) {
        for (const { turn } of call.outcome.answer.deliveries) this.#taken.push(turn);
      }
    } else if (lot === 7)
      worker.enQueue({ queue, key: key === '' ? 'lock' : key, idempotencyKey: chance.of('x', 'y') });
    else if (lot === 8 && chance.in100(30))
      void home.admin.ask('setLimits', { queue, change: { rate: undefined, maxInFlight: chance.of(3, 5) } });
    else if (lot === 8)
      void (chance.in100(50) ? home.admin.ask('pauseQueue', { queue }) : home.admin.ask('resumeQueue', { queue }));
    const held = this.#taken.shift();
    if (held !== undefined) this.#settle(held);
    await stage.pass(chance.of(10, 10, 50, 700));
  }

  #submit(queue: string, key: string): void {
    const { chance } = this;
    this.#ids += 1;
    const itemId = `i${this.#ids}`;
    const waits = this.#ids > 2 && chance.in100(30) ? [{ queue: 'q', itemId: `i${this.#ids - 1}` }] : undefined;
    const own = chance.in100(20) ? { idempotencyKey: `k${chance.int(0, 5)}` } : {};
    workerAt(this.stage.only.member).submit([{ key, itemId, after: waits, delay: chance.of(0, 0, 300), ...own }], {
      queue,
    });
  }

  #settle({ queue, key, token }: { queue: string; key: string; token: number }): void {
    const lot = this.chance.int(0, 9);
    if (lot < 5) this.home.ack(ackRequest({ queue, key, token }), new Call());
    else if (lot < 8) {
      const kind = this.chance.of('retry', 'dead_letter', 'release');
      this.home.nack(nackRequest({ queue, key, token, kind, error: 'no' }), new Call());
    }
  }
}

/** Not there: ends of which items have not learnt, which are told within a step as long as they are few, and sessions. */
const KINDS = [
  'floor',
  'items done',
  'items open',
  'keys',
  'limits',
  'parks',
  'pauses',
  'progress',
  'tokens ended',
  'tokens live',
];

describe('S236: a partition that is written anew', () => {
  it('has the rows that were there, each one as it was', async (t) => {
    const kinds = new Set<string>();
    for (const seed of seedsOf(t, 1, { usual: 12, fewest: 6 })) {
      const stage = new MembersStage(1, { queues: QUEUES });
      const { member } = stage.start('a');
      await stage.until(() => stage.hasAll(member));
      const home = stage.homeOf(0);
      const life = new Life(stage, new Chance(seed), home);
      for (let step = 0; step < STEPS; step++) await life.step();
      // All is written: what forgets by itself is quiet and waits for the next batch.
      await stage.until(() => home.stats().journal?.unwritten === 0);
      const rows = stored(stage);
      const again = home.snapshot().rows;
      assert.deepEqual(again.map(nameOf).sort(), rows.map(nameOf).sort(), `names, seed ${seed}`);
      assert.deepEqual(plain(again), plain(rows), `seed ${seed}`);
      for (const row of rows) kinds.add('state' in row ? `${row.table} ${row.state}` : row.table);
    }
    assert.deepEqual([...kinds].sort(), KINDS);
  });

  it('is so when its home was the last that had what the store lost, and goes on, and another one finds it', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const before = stage.store.changes;
    workerAt(a.member).items('of-a', 'of-a-too');
    const b = stage.start('b');
    await stage.pass(4_000);
    a.kill();
    await stage.until(() => b.member.isHere(0));
    workerAt(b.member).items('of-b');
    await stage.pass(50);
    // Further back than the claim of b, whose batches before that nobody has.
    stage.store.failOver(stage.store.changes - before);
    await stage.pass(500);
    assert.equal(b.member.isHere(0), true);
    const c = stage.start('c');
    await stage.pass(4_000);
    b.kill();
    await stage.until(() => c.member.isHere(0));
    const got = workerAt(c.member).acquire({ maxItemsPerTurn: 10 });
    await stage.pass(50);
    const ids = got.value.deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId));
    assert.deepEqual(ids, ['of-a', 'of-a-too', 'of-b']);
  });
});
