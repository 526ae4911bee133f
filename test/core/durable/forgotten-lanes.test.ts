/**
 * Few idle lanes are remembered, so lanes are forgotten all the time, and what is left of one is used by the next: random calls,
 * on disk and in memory only. After every step everything that is kept twice is recounted; a call that comes again gets its own
 * answer or none, never that of another turn; and what was written is what would be written anew.
 * `KEYTURN_SEED=…` runs one of the seeds again.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Delivery, Policy, Turn } from '../../../src/coordinator.js';
import type { Row } from '../../../src/core/contract/rows.js';
import { Chance } from '../../sim/random.js';
import { newItem } from '../../support/builders.js';
import type { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { seedsOf } from '../../support/runs.js';
import { atOnce } from '../stage.js';
import { Lives } from './reborn.js';

const STEPS = 250;
/** The last is made by who uses it, and forgotten when nothing is left of it. */
const QUEUES = ['q', 'r', 'made'] as const;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const TICKETS = ['t', 'u'] as const;
const WAYS = ['ack', 'with follow-ups', 'nack', 'release', 'dequeue', 'abandon'] as const;
type Way = (typeof WAYS)[number];

interface Known {
  readonly turn: Pick<Turn, 'queue' | 'key' | 'token'>;
  /** How it was settled, and what was answered. */
  settled?: { readonly way: Way; readonly answer: unknown };
}

class Story {
  readonly #chance: Chance;
  readonly #lives: Lives;
  readonly #durable: boolean;
  readonly #turns = new Map<number, Known>();
  /** Of the last flush. */
  #written: ReadonlyMap<number, Known> = new Map();
  again = 0;
  forgotten = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed);
    const of = <T>(first: T, ...others: T[]) => this.#chance.of(first, ...others);
    this.#durable = this.#chance.in100(70);
    const policy = (): Partial<Policy> => ({
      durable: this.#durable,
      lease: of(50, 1_000),
      wait: 0,
      ticketTtl: of(20, 400),
      resultTtl: of(1, 40, 1_000),
      idempotencyTtl: of(0, 500),
      minInterval: of(0, 0, 30),
      maxDeadLetters: of(1, 100),
      maxHold: of(undefined, undefined, 300),
      retry: { maxAttempts: 2, initial: 1, factor: 1, max: 1, jitter: 'none' },
      waitingPerKey: of<Policy['waitingPerKey']>(undefined, 'unlimited', 1),
      whenFull: of('decline', 'replace'),
      onDeadLetter: of('skip', 'park'),
      maxInFlight: of(undefined, undefined, 2),
      delivery: of('at_least_once', 'at_least_once', 'at_most_once'),
    });
    const limits = { idleLanes: of(1, 2, 3, 8) };
    const settings = { queues: { q: policy(), r: policy() }, defaultPolicy: policy(), limits };
    const partition = this.#chance.in100(30) ? { number: 2, of: 3 } : undefined;
    this.#lives = new Lives(settings, true, this.#durable ? partition : undefined);
    this.#lives.flush();
  }

  run(): void {
    for (let step = 0; step < STEPS; step++) {
      this.#step();
      const { core, now } = this.#lives.stage;
      recount(core.inside, now);
    }
    for (const name of QUEUES) this.forgotten += this.#evictedOf(name);
  }

  #step(): void {
    const chance = this.#chance;
    const { stage } = this.#lives;
    const lot = chance.int(0, 99);
    if (lot < 20) this.#enQueue();
    else if (lot < 36) this.#submit();
    else if (lot < 50) this.#acquire();
    else if (lot < 68) this.#settle(this.#anyTurn());
    else if (lot < 76) this.#leave();
    else if (lot < 79) stage.person((now) => stage.core.evictHolder(chance.of(...QUEUES), this.#key(), now), said);
    else if (lot < 81) stage.person((now) => stage.core.resumeKey(chance.of(...QUEUES), this.#keyOrNone(), now), said);
    else if (lot < 83) this.#redrive();
    else if (lot < 89) stage.pass(chance.int(1, 60));
    else if (lot < 92) stage.now += chance.of(1, 30, 700);
    else if (lot < 93) stage.pass(61_000);
    else if (lot < 98) this.#flush();
    else this.#restart();
  }

  #key(): string {
    return this.#chance.of(...KEYS);
  }

  #keyOrNone(): string {
    return this.#chance.in100(30) ? '' : this.#key();
  }

  #ticket(): string | undefined {
    return this.#chance.in100(40) ? this.#chance.of(...TICKETS) : undefined;
  }

  #enQueue(): void {
    const { stage } = this.#lives;
    const [queue, key, ticket] = [this.#chance.of(...QUEUES), this.#key(), this.#ticket()];
    const idempotencyKey = this.#chance.in100(20) ? this.#chance.of('i', 'j') : undefined;
    const call = stage.enQueue('w', { queue, key, ticket, idempotencyKey, wait: 0 });
    if (wasRefused(call) || call.value.decision !== 'accept') return;
    this.#given(call.value.turn, { queue, key });
  }

  #submit(): void {
    const { stage } = this.#lives;
    const one = () => ({
      key: this.#keyOrNone(),
      itemId: this.#chance.in100(30) ? this.#chance.of('x', 'y', 'z') : undefined,
      idempotencyKey: this.#chance.in100(15) ? this.#chance.of('i', 'j') : undefined,
      delay: this.#chance.of(0, 0, 0, 20),
    });
    stage.submit('s', this.#chance.in100(50) ? [one()] : [one(), one(), one()], this.#chance.of(...QUEUES));
  }

  #acquire(): void {
    const { stage } = this.#lives;
    const chance = this.#chance;
    const key = chance.in100(25) ? this.#key() : undefined;
    const queues = key === undefined && chance.in100(50) ? QUEUES : [chance.of(...QUEUES)];
    const maxTurns = key === undefined ? chance.int(1, 3) : 1;
    const call = stage.acquire('w', {
      queues,
      key,
      ticket: this.#ticket(),
      maxTurns,
      maxItemsPerTurn: chance.int(1, 3),
    });
    if (!wasRefused(call)) this.#delivered(call.value.deliveries);
  }

  #delivered(deliveries: readonly Delivery[]): void {
    for (const { turn } of deliveries) this.#given(turn, turn);
  }

  /** One that comes again by its ticket is known. */
  #given({ queue, key, token }: Turn, asked: Pick<Turn, 'queue' | 'key'>): void {
    assert.deepEqual([queue, key], [asked.queue, asked.key]);
    const known = this.#turns.get(token);
    assert.equal(known?.settled, undefined, `${token} is over`);
    if (known === undefined) this.#turns.set(token, { turn: { queue, key, token } });
    else assert.deepEqual([known.turn.queue, known.turn.key], [queue, key]);
  }

  #anyTurn(): Known | undefined {
    const all = [...this.#turns.values()];
    return all[all.length - 1 - Math.min(this.#chance.int(0, 30), this.#chance.int(0, 30))];
  }

  #settle(known: Known | undefined): void {
    if (known === undefined) return;
    const chance = this.#chance;
    const { settled, turn } = known;
    const way = settled === undefined || chance.in100(20) ? chance.of(...WAYS) : settled.way;
    if (chance.in100(10)) return this.#settleElsewhere(turn, way);
    const call = this.#call(turn, way);
    if (wasRefused(call)) {
      assert.match(call.refusal.kind, /^(turn_lost|use_ack|bad_request|at_most_once|queue_full|limit|no_such_queue)$/);
      return;
    }
    const answer = call.value;
    if (settled === undefined) known.settled = { way, answer };
    else {
      assert.deepEqual([callOf(way), answer], [callOf(settled.way), settled.answer], `${turn.token} ended otherwise`);
      this.again += 1;
    }
  }

  /** The token of one key is nothing to another. */
  #settleElsewhere(turn: Known['turn'], way: Way): void {
    const key = KEYS.find((other) => other !== turn.key) ?? '';
    const call = this.#call({ ...turn, key }, way);
    assert.equal(call.refusal.kind === 'turn_lost' && call.refusal.cause, 'unknown');
  }

  #call(turn: Known['turn'], way: Way): Call<unknown> {
    const { stage } = this.#lives;
    const followUp = () => ({ queue: this.#chance.of(...QUEUES), item: newItem({ key: this.#keyOrNone() }) });
    switch (way) {
      case 'ack':
        return stage.ack('w', turn);
      case 'with follow-ups':
        return stage.ack('w', { ...turn, followUps: [followUp(), followUp()] });
      case 'nack':
        return stage.nack('w', turn);
      case 'release':
        return stage.nack('w', { ...turn, kind: 'release' });
      case 'dequeue':
      case 'abandon':
        return stage.deQueue('w', { ...turn, holder: turn, abandoned: way === 'abandon' });
    }
  }

  #leave(): void {
    const { stage } = this.#lives;
    const [queue, key, ticket] = [this.#chance.of(...QUEUES), this.#key(), this.#chance.of(...TICKETS)];
    stage.deQueue('w', { queue, key, holder: { ticket }, abandoned: this.#chance.in100(50) });
  }

  #redrive(): void {
    const { stage } = this.#lives;
    const choice = { key: undefined, itemIds: [] };
    const queue = this.#chance.of(...QUEUES);
    stage.person(
      (now) => atOnce(stage.core.redrive({ queue, ...choice }, 10, () => now)),
      (count) => `redrove ${count}`,
    );
  }

  #flush(): void {
    const { core, now } = this.#lives.stage;
    this.#lives.flush();
    this.#written = new Map([...this.#turns].map(([token, known]) => [token, { ...known }]));
    if (!this.#durable) return;
    // Whatever was forgotten, and whoever uses its records by now.
    const [there, anew] = [inOrder(this.#lives.disk.rows()), inOrder(core.rows(now).rows)];
    assert.deepEqual([without(there, anew), without(anew, there)], [[], []]);
  }

  #restart(): void {
    if (!this.#durable) return;
    if (this.#chance.in100(50)) this.#flush();
    for (const name of QUEUES) this.forgotten += this.#evictedOf(name);
    assert.deepEqual(this.#lives.restart({ away: this.#chance.of(0, 10, 1_000) }), []);
    this.#turns.clear();
    for (const [token, known] of this.#written) this.#turns.set(token, { ...known });
  }

  #evictedOf(name: string): number {
    const { core, now } = this.#lives.stage;
    return core.stats(now).queues.find(({ view }) => view.name === name)?.idleLanesEvicted ?? 0;
  }
}

function wasRefused(call: Call<unknown>): boolean {
  const { outcome } = call;
  assert.ok(outcome !== undefined, 'it does not wait');
  return 'refusal' in outcome;
}

/** A repeated Ack is not asked for its follow-ups. */
function callOf(way: Way): Way {
  return way === 'with follow-ups' ? 'ack' : way;
}

function said(): string {
  return 'done';
}

/**
 * How many tokens are reserved is written now and then only. Of the starts of a key the latest counts, which not all of its rows
 * say; and a row of a turn of at_most_once is not written anew when it is forgotten that its items are done. What may change of an item is said by its progress.
 */
function inOrder(rows: readonly Row[]): string[] {
  return rows
    .filter(({ table }) => table !== 'floor')
    .map((row) => JSON.stringify(comparable(row), inAnyOrder))
    .sort();
}

function comparable(row: Row): Row {
  if (row.table === 'tokens') return { ...row, startedAt: 0 };
  return row.table === 'items' && row.state === 'open' ? { ...row, notBefore: 0, takesRoom: true, after: [] } : row;
}

function without(some: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return some.filter((one) => !known.has(one));
}

/** What is unset is not there, and names stand in order. */
function inAnyOrder(_: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  if (value instanceof Map || ArrayBuffer.isView(value)) return String(value);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Seeds differ: the sums of fewer say little. */
const AMOUNT = { usual: 40, fewest: 12 };

describe('lanes that are forgotten', () => {
  it('many seeds: no call is answered with what another one was, and nothing is left of them on disk', (t) => {
    let [again, forgotten, worlds] = [0, 0, 0];
    for (const seed of seedsOf(t, 500, AMOUNT)) {
      worlds += 1;
      const story = new Story(seed);
      try {
        story.run();
      } catch (error) {
        throw new Error(`seed ${seed} fails: KEYTURN_SEED=${seed}`, { cause: error });
      }
      again += story.again;
      forgotten += story.forgotten;
    }
    assert.ok(again > worlds && forgotten > 5 * worlds, `${again} again, ${forgotten} forgotten`);
  });
});
