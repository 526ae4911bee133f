/**
 * A core that crashes again and again, with what was not flushed lost each time, and items of every durability side by
 * side. A ledger outside knows who was told what; with each crash it goes back to the last flush, less what was in memory
 * only. What is forgotten, is forgotten soon; policies change at the restarts; and of some items more than a thousand
 * others wait. `KEYTURN_SEED=…` runs one of the seeds again.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Durability, ItemRef, NackKind, NewItem, Policy } from '../../../src/coordinator.js';
import { Chance } from '../../sim/random.js';
import { seedsOf } from '../../support/runs.js';
import { Lives } from './reborn.js';

const QUEUES = ['q', 'r'] as const;
const STEPS = 160;
/** So many are told in a step, and some are left. */
const FAN = 1_040;
const LONG = 3_600_000;

interface Entry {
  readonly item: Pick<NewItem, 'key' | 'itemId' | 'after'> & { readonly itemId: string };
  readonly queue: string;
  /** Which of those that had this id. */
  readonly serial: number;
  readonly kept: boolean;
  /** Somebody said so. */
  readonly done: boolean;
  readonly dead: boolean;
}

/** What its worker has of it. */
interface Hold {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly items: readonly { readonly name: string; readonly serial: number }[];
}

interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly holds: readonly Hold[];
}

class Story {
  readonly #chance: Chance;
  readonly #lives: Lives;
  readonly #onDependencyDead: Policy['onDependencyDead'];
  #entries = new Map<string, Entry>();
  #holds: Hold[] = [];
  #flushed: Ledger = { entries: new Map(), holds: [] };
  #serial = 0;
  #lastToken = 0;
  crashes = 0;
  lost = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed);
    this.#onDependencyDead = this.#chance.of('dead', 'dead', 'run');
    this.#lives = new Lives(this.#settings(), this.#chance.in100(40));
  }

  run(): void {
    if (this.#chance.in100(40)) this.#fan();
    for (let step = 0; step < STEPS; step++) this.#step();
    this.#crash(true);
    this.#drain();
    this.#checkAll();
  }

  #settings() {
    const of = <T>(first: T, ...others: T[]) => this.#chance.of(first, ...others);
    const policy = (durability: Durability): Partial<Policy> => ({
      durable: true,
      durability,
      lease: LONG,
      resultTtl: of(1, 40, LONG),
      maxRemembered: of(1, 3, 100_000),
      idempotencyTtl: 0,
      retry: { maxAttempts: 1_000, initial: 1, factor: 1, max: 1, jitter: 'none' },
      waitingPerKey: of<Policy['waitingPerKey']>(undefined, 'unlimited'),
      maxInFlight: of(undefined, undefined, 3),
      onDependencyDead: this.#onDependencyDead,
    });
    return {
      queues: { q: policy(of('on_flush', 'on_flush', 'interval')), r: policy(of('on_flush', 'interval', 'count')) },
    };
  }

  #step(): void {
    const chance = this.#chance;
    const lot = chance.int(0, 99);
    if (lot < 22) this.#submit();
    else if (lot < 32) this.#resend();
    else if (lot < 50) this.#acquire();
    else if (lot < 72) {
      this.#settle();
      // Between the batches in which many are told what follows from it.
      if (chance.in100(20)) this.#crash(true);
    } else if (lot < 78) this.#lives.stage.pass(chance.int(1, 60));
    else if (lot < 83) this.#lives.stage.now += chance.int(1, 60);
    else if (lot < 88) this.#look();
    else if (lot < 96) this.#flush();
    else this.#crash(chance.in100(50));
  }

  #durability(): Durability | undefined {
    return this.#chance.of<Durability | undefined>(undefined, 'on_flush', 'interval', 'count', 'memory', 'memory');
  }

  /** One, and more that wait for it than are told in one step. */
  #fan(): void {
    const queue = this.#chance.of(...QUEUES);
    this.#send(queue, [this.#made('')], this.#durability());
    const [first] = this.#entries.values();
    assert.ok(first !== undefined);
    for (let left = FAN; left > 0; left -= 520)
      this.#send(
        queue,
        Array.from({ length: 520 }, () => this.#made('', [refOf(first)])),
        undefined,
      );
    this.#flush();
    this.#acquire();
    this.#step();
    for (let i = 0; this.#holds.length > 0 && i < 3; i++) this.#settle();
    this.#crash(true);
  }

  #submit(): void {
    const chance = this.#chance;
    const open = [...this.#entries.values()].filter(({ done, dead }) => !done && !dead);
    const items = Array.from({ length: chance.int(1, 4) }, () => {
      const [one, ...others] = open;
      const waits = one !== undefined && chance.in100(25);
      return this.#made(waits ? '' : chance.of('a', 'b', ''), waits ? [refOf(chance.of(one, ...others))] : undefined);
    });
    this.#send(chance.of(...QUEUES), items, this.#durability());
  }

  #made(key: string, after?: readonly ItemRef[]): Entry['item'] {
    this.#serial += 1;
    return { key, itemId: `i${this.#serial}`, after };
  }

  /** The answer was lost, perhaps, or it is to be safer than before. */
  #resend(): void {
    const [one, ...others] = [...this.#entries.values()].filter(({ done }) => !done);
    if (one === undefined) return;
    const { queue, item } = this.#chance.of(one, ...others);
    // What it waited for may be forgotten by now.
    this.#send(queue, [item], this.#durability());
  }

  #send(queue: string, items: readonly Entry['item'][], durability: Durability | undefined): void {
    const all = items.map((item) => ({ ...item, afterUnknown: 'wait' as const }));
    const { results } = this.#lives.stage.submit('p', all, queue, 0, durability).value;
    const kept = durability !== 'memory';
    for (const [index, item] of items.entries()) {
      assert.equal(results[index]?.decision, 'accept');
      const name = nameOf({ queue, itemId: item.itemId });
      const known = this.#entries.get(name);
      this.#serial += 1;
      const entry = known ?? { item, queue, serial: this.#serial, kept, done: false, dead: false };
      this.#entries.set(name, { ...entry, kept: entry.kept || kept });
    }
  }

  #acquire(): void {
    const chance = this.#chance;
    const change = { queues: [...QUEUES], maxTurns: chance.int(1, 3), maxItemsPerTurn: chance.int(1, 4) };
    for (const { turn, items } of this.#lives.stage.acquire('w', change).value.deliveries) {
      assert.ok(turn.token > this.#lastToken, `${turn.token} after ${this.#lastToken}`);
      this.#lastToken = turn.token;
      const { queue, key, token } = turn;
      const held = items.map(({ itemId }) => {
        const name = nameOf({ queue, itemId });
        const entry = this.#entries.get(name);
        assert.ok(entry !== undefined, `${name} is delivered, and nobody sent it, or it was lost`);
        assert.ok(!entry.done, `${name} is delivered, and was done`);
        this.#checkAfter(name, entry);
        return { name, serial: entry.serial };
      });
      this.#holds.push({ queue, key, token, items: held });
    }
  }

  #checkAfter(name: string, { item, serial }: Entry): void {
    for (const ref of item.after ?? []) {
      const awaited = this.#entries.get(nameOf(ref));
      const isOver = awaited === undefined || awaited.done || awaited.dead || awaited.serial > serial;
      assert.ok(isOver, `${name} starts before ${ref.itemId}, for which it waits`);
    }
  }

  #settle(): void {
    const chance = this.#chance;
    const [hold] = this.#holds.splice(chance.int(0, Math.max(0, this.#holds.length - 1)), 1);
    if (hold === undefined) return;
    const { queue, key, token, items } = hold;
    const { stage } = this.#lives;
    if (chance.in100(45)) {
      assert.ok(stage.ack('w', { queue, key, token }).value);
      return this.#mark(items, { done: true });
    }
    const kind = chance.of<NackKind>('release', 'release', 'retry', 'dead_letter');
    const done = chance.int(0, items.length);
    assert.ok(stage.nack('w', { queue, key, token, kind, done, error: 'e' }).value);
    this.#mark(items.slice(0, done), { done: true });
    if (kind === 'dead_letter') this.#mark(items.slice(done), { dead: true });
  }

  #mark(items: Hold['items'], as: Partial<Entry>): void {
    for (const { name, serial } of items) {
      const entry = this.#entries.get(name);
      // It may be another by now, which was sent after the crash that took the one of this turn.
      if (entry?.serial === serial) this.#entries.set(name, { ...entry, ...as });
    }
  }

  /** Whether it stands as was said; what is done may be forgotten. */
  #look(): void {
    const [one, ...others] = this.#entries.keys();
    if (one !== undefined) this.#check(this.#chance.of(one, ...others));
  }

  #check(name: string): void {
    const entry = this.#entries.get(name);
    assert.ok(entry !== undefined);
    const { queue, item } = entry;
    const { state } = this.#lives.stage.awaitItem('p', item.itemId, 0, queue).value;
    if (entry.done) assert.ok(state === 'done' || state === 'unknown', `${name} is ${state}, and was done`);
    else if (entry.dead || this.#mayBeDoomed(entry)) assert.notEqual(state, 'done', name);
    else assert.ok(state === 'waiting' || state === 'in_flight', `${name} is ${state}, and nobody said so`);
  }

  #mayBeDoomed({ item }: Entry): boolean {
    return (item.after ?? []).some((ref) => {
      const awaited = this.#entries.get(nameOf(ref));
      return awaited === undefined || awaited.dead || this.#mayBeDoomed(awaited);
    });
  }

  #flush(): void {
    this.#lives.flush();
    this.#flushed = { entries: new Map(this.#entries), holds: [...this.#holds] };
  }

  #crash(isFlushed: boolean): void {
    if (isFlushed) this.#flush();
    this.crashes += 1;
    const stranded = this.#lives.restart({ away: this.#chance.of(0, 10, 100), change: this.#settings() });
    assert.deepEqual(stranded, []);
    this.#entries = new Map([...this.#flushed.entries].filter(([, { kept, done }]) => kept || done));
    this.lost += this.#flushed.entries.size - this.#entries.size;
    this.#holds = [...this.#flushed.holds];
    this.#flush();
  }

  /** Everybody does what he has, and whoever may start does. */
  #drain(): void {
    const { stage } = this.#lives;
    for (;;) {
      for (const { queue, key, token, items } of this.#holds.splice(0)) {
        assert.ok(stage.ack('w', { queue, key, token }).value);
        this.#mark(items, { done: true });
      }
      stage.pass(100);
      for (let taken = -1; taken !== this.#holds.length; ) {
        taken = this.#holds.length;
        this.#acquire();
      }
      if (this.#holds.length === 0) return;
    }
  }

  #checkAll(): void {
    for (const name of this.#entries.keys()) this.#check(name);
    for (const [name, entry] of this.#entries) {
      const isOver = entry.done || entry.dead || this.#mayBeDoomed(entry);
      assert.ok(isOver || this.#isBlocked(entry), `${name} waits for ever`);
    }
  }

  /** A dead letter, or one that waits for ever for what a crash took, may stand before it: those have no key. */
  #isBlocked({ item }: Entry): boolean {
    return (
      item.key !== '' &&
      [...this.#entries.values()].some((other) => other.item.key === item.key && this.#mayBeDoomed(other))
    );
  }
}

function refOf({ queue, item }: Entry): ItemRef {
  return { queue, itemId: item.itemId };
}

function nameOf({ queue, itemId }: ItemRef): string {
  return `${queue}/${itemId}`;
}

describe('a core that crashes at any moment', () => {
  it('many seeds: nothing that is kept is lost, nothing is done that nobody did, and nobody waits for ever', (t) => {
    let [crashes, lost, worlds] = [0, 0, 0];
    for (const seed of seedsOf(t, 9_000, { usual: 40, fewest: 4 })) {
      worlds += 1;
      const story = new Story(seed);
      try {
        story.run();
      } catch (error) {
        throw new Error(
          `seed ${seed} fails: KEYTURN_SEED=${seed} node --test dist/test/core/durable/crashes-property.test.js`,
          {
            cause: error,
          },
        );
      }
      crashes += story.crashes;
      lost += story.lost;
    }
    assert.ok(crashes >= 2 * worlds && lost >= worlds, `${crashes} crashes, ${lost} lost`);
  });
});
