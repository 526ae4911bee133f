/**
 * Random days of one partition: answers and requests lost, late and refused, the store falls back or fails over, another home
 * takes over. Whatever was written is there in the end, and nothing of a home that was succeeded.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterStore, PartitionStore } from '../../src/cluster/store/cluster-store.js';
import type { Row, RowChange } from '../../src/core/contract/rows.js';
import { JournalError } from '../../src/local/journal/journal.js';
import { itemRow } from '../local/journal/rows.js';
import { Chance } from '../sim/random.js';
import { FakeEngine } from '../support/cluster/fake-engine.js';
import type { FakeStore } from '../support/cluster/fake-store.js';
import type { Fault } from '../support/cluster/fake-wire.js';
import { FakeClock } from '../support/fake-clock.js';
import { seedsOf } from '../support/runs.js';
import { RECORD, rowsOf } from './store-place.js';

test('what was written is there in the end, whatever happened to answers, requests and the store', async (t) => {
  for (const seed of seedsOf(t, 20_260_000, { usual: 60, fewest: 3 })) {
    await new Day(seed).live().catch((error: unknown) => {
      throw new Error(`KEYTURN_SEED=${seed} node --test dist/test/cluster/store-random.test.js`, { cause: error });
    });
  }
});

class Day {
  readonly #chance: Chance;
  readonly #clock = new FakeClock();
  readonly #engine = new FakeEngine(this.#clock);
  /** As the core of the home has it. */
  readonly #rows = new Map<number, Row>();
  #store: FakeStore;
  #home: PartitionStore | undefined;
  #isCalm = false;
  #names = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed);
    this.#store = this.#open();
  }

  async live(): Promise<void> {
    await this.#begin('');
    for (let step = 0; step < 60; step += 1) {
      const lot = this.#chance.int(0, 99);
      if (lot < 70) await this.#write();
      else if (lot < 76) await this.#try(() => this.#present.assert());
      else if (lot < 82) await this.#try(() => this.#present.settle());
      else if (lot < 88) this.#fallBack();
      else if (lot < 92) await this.#reclaim();
      else if (lot < 95) await this.#try(() => this.#present.rewrite([[...this.#rows.values()]], step));
      else if (lot < 97) await this.#succeed();
      else this.#clock.advance(this.#chance.int(1, 3_000));
    }
    this.#isCalm = true;
    this.#clock.advance(10_000);
    await this.#write();
    const found = new Map((await rowsOf(this.#present)).map((row) => ['seq' in row ? row.seq : -1, row] as const));
    assert.deepEqual(sorted(found), sorted(this.#rows));
  }

  get #present(): PartitionStore {
    assert.ok(this.#home);
    return this.#home;
  }

  #open(): FakeStore {
    this.#names += 1;
    const store = this.#engine.open(`member-${this.#names}`);
    // Mostly enough for the whole day, now and then too small.
    store.ring = { ms: 60_000, bytes: this.#chance.in100(70) ? 10_000_000 : 500 };
    store.wire.fault = () => this.#fault();
    return store;
  }

  #fault(): Fault {
    if (this.#isCalm) return {};
    const lot = this.#chance.int(0, 99);
    if (lot < 70) return {};
    if (lot < 76) return { lost: 'answer' };
    if (lot < 82) return { lost: 'request' };
    if (lot < 85) return { refused: 'full' };
    // Some come after their deadline, when nobody waits for them any more.
    if (lot < 93) return { there: this.#chance.int(1, 2_500) };
    return { back: this.#chance.int(1, 1_500) };
  }

  async #begin(expected: string): Promise<void> {
    await this.#until(() => this.#store.record(RECORD));
    for (let owner = expected; ; ) {
      const answer = await this.#until(() =>
        this.#store.claim({ partition: 0, expected: owner, member: this.#store.name, floor: 1, format: 1 }),
      );
      if (answer.claimed) {
        this.#home = this.#store.open(answer);
        return;
      }
      // The answer of the claim was lost: what stands there is this member's own.
      owner = answer.guard.owner;
    }
  }

  /** As the writer of a coordinator does: the same changes until they are written. */
  async #write(): Promise<void> {
    const changes = this.#changes();
    for (const change of changes) {
      if ('put' in change && 'seq' in change.put) this.#rows.set(change.put.seq, change.put);
      if ('delete' in change && 'seq' in change.delete) this.#rows.delete(change.delete.seq);
    }
    for (;;) {
      // Members look at the guard whenever they like, also while something is written.
      const beside = this.#chance.in100(20) ? this.#present.assert().catch(() => undefined) : undefined;
      const error = await this.#try(() => this.#present.write(changes, this.#clock.now()));
      if (beside !== undefined) await this.#settled(beside);
      if (error === undefined) return;
      assert.notEqual(error.problem, 'fenced', 'nobody else claimed');
      if (error.problem === 'fell_back') {
        await this.#try(() => this.#present.rewrite([[...this.#rows.values()]], this.#clock.now()));
      }
      this.#clock.advance(this.#chance.int(1, 500));
    }
  }

  #changes(): readonly RowChange[] {
    return Array.from({ length: this.#chance.int(1, 4) }, (): RowChange => {
      const seq = this.#chance.int(1, 12);
      if (this.#chance.in100(30)) return { delete: { table: 'items', seq } };
      return { put: itemRow(seq, { id: `item-${this.#chance.int(1, 1_000_000)}` }) };
    });
  }

  /** Never further than to the record. */
  #fallBack(): void {
    const most = Math.min(this.#engine.changes - 1, 30);
    if (most > 0) this.#engine.failOver(this.#chance.int(1, most));
  }

  /** The session was over for a moment, and nobody was there in between. */
  async #reclaim(): Promise<void> {
    const { owner } = this.#present.guard;
    if ((await this.#try(() => this.#present.settle())) !== undefined) return;
    const claim = { partition: 0, expected: owner, member: this.#store.name, floor: 1, format: 1 };
    const { seq } = this.#present.guard;
    const answer = await this.#until(() => this.#store.claim({ ...claim, expectedSeq: seq }));
    if (answer.claimed) return this.#present.renewed(answer);
    // Lost answer, or the store fell back: this home is over. What comes next begins with what is there.
    await this.#succeed();
  }

  /** Another home takes over; what the old one still has under way must not be seen. */
  async #succeed(): Promise<void> {
    const old = this.#present;
    const store: ClusterStore = this.#store;
    this.#store = this.#open();
    const [guard] = await this.#until(() => this.#store.guards(1));
    await this.#begin(guard?.owner ?? '');
    this.#rows.clear();
    for (const row of await this.#until(() => rowsOf(this.#present))) if ('seq' in row) this.#rows.set(row.seq, row);
    const late = await this.#try(() => old.write([{ put: itemRow(99) }], 1));
    assert.notEqual(late, undefined, 'the old home wrote');
    await store.close();
  }

  async #until<T>(task: () => Promise<T>): Promise<T> {
    for (;;) {
      const outcome = await this.#settled(task());
      if ('value' in outcome) return outcome.value;
      assert.ok(outcome.error instanceof JournalError, String(outcome.error));
    }
  }

  async #try(task: () => Promise<void>): Promise<JournalError | undefined> {
    const outcome = await this.#settled(task());
    if ('value' in outcome) return undefined;
    if (!(outcome.error instanceof JournalError)) throw outcome.error;
    return outcome.error;
  }

  async #settled<T>(promise: Promise<T>): Promise<{ readonly value: T } | { readonly error: unknown }> {
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    promise.then(
      (value) => {
        outcome = { value };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    for (;;) {
      for (let turns = 0; turns < 30 && outcome === undefined; turns += 1) await Promise.resolve();
      if (outcome !== undefined) return outcome;
      this.#clock.advance(50);
    }
  }
}

function sorted(rows: ReadonlyMap<number, Row>): readonly (readonly [number, Row])[] {
  return [...rows].sort(([a], [b]) => a - b);
}
