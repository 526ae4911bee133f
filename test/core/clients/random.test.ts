/**
 * Random calls of three principals to two cores of one process, with both bounds, against a dumb list of turns and items. It
 * knows who got which turn and whose each item is, and nothing of accounts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SharedUse } from '../../../src/core/core.js';
import { TURN_COST } from '../../../src/core/state/held.js';
import { Chance } from '../../sim/random.js';
import { newItem } from '../../support/builders.js';
import type { Call } from '../../support/call.js';
import { recountShared } from '../../support/recount-shared.js';
import { seedsOf } from '../../support/runs.js';
import { BYTES, bound, Charged, submitAs, TURNS } from './charged.js';

const WHO = ['ada', 'bob', undefined] as const;
const KEYS = ['a', 'bb', 'ccc', 'dddd', ''] as const;
const MOST_TURNS = 2;
const MOST_BYTES = 6_000;
const STEPS = 200;
const WORKER = 'w';

type Who = (typeof WHO)[number];

interface HeldTurn {
  readonly at: Charged;
  readonly key: string;
  readonly token: number;
  readonly who: Who;
  /** Ids; none: of a caller. */
  readonly items: readonly string[];
}

interface Sent {
  readonly key: string;
  readonly itemId: string;
  readonly payload: Uint8Array;
}

class World {
  readonly #chance: Chance;
  readonly #shared = new SharedUse();
  readonly #cores: Charged[];
  readonly #turns = new Set<HeldTurn>();
  /** By id: whose it is and what it weighs. */
  readonly #items = new Map<string, { readonly who: Who; readonly weight: number }>();
  #ids = 0;
  refused = { turns: 0, bytes: 0 };

  constructor(seed: number) {
    this.#chance = new Chance(seed);
    this.#cores = [0, 1].map(() => {
      const retry = { initial: 1, factor: 1, max: 1, maxAttempts: 1_000, jitter: 'none' } as const;
      const queues = { q: { lease: 3_600_000, waitingPerKey: 'unlimited', retry } } as const;
      const stage = new Charged({ queues, perClient: { turns: MOST_TURNS, memoryBytes: MOST_BYTES } });
      stage.core.join(this.#shared, () => undefined);
      return stage;
    });
  }

  run(): void {
    for (let step = 0; step < STEPS; step += 1) {
      this.#step();
      this.#check();
    }
  }

  #step(): void {
    const at = this.#pick(this.#cores);
    const who = this.#pick(WHO);
    const roll = this.#chance.int(0, 9);
    if (roll < 2) this.#enQueue(at, who);
    else if (roll < 5) this.#submit(at, who);
    else if (roll < 7) this.#acquire(at, who);
    else this.#settle();
  }

  #enQueue(at: Charged, who: Who): void {
    const key = this.#pick(KEYS.slice(0, 4));
    const call = at.enQueue(WORKER, { key, wait: 0, principal: who });
    if (this.#isRefused(call, who, TURN_COST + key.length + WORKER.length)) return;
    const { value } = call;
    if (value.decision === 'accept') this.#turns.add({ at, key, token: value.turn.token, who, items: [] });
  }

  #submit(at: Charged, who: Who): void {
    const items = Array.from({ length: this.#chance.int(1, 3) }, () => this.#item());
    const weights = items.map(weightOf);
    const sum = weights.reduce((all, weight) => all + weight, 0);
    if (this.#isRefused(submitAs(at, who, items), who, sum)) return;
    this.#keep(items, who);
  }

  #acquire(at: Charged, who: Who): void {
    const maxTurns = this.#chance.int(1, 4);
    const call = at.acquire(WORKER, { maxTurns, maxItemsPerTurn: this.#chance.int(1, 2), principal: who });
    if (this.#isRefused(call, who, 0)) return;
    for (const { turn, items } of call.value.deliveries)
      this.#turns.add({ at, key: turn.key, token: turn.token, who, items: items.map(({ itemId }) => itemId) });
  }

  #settle(): void {
    if (this.#turns.size === 0) return;
    const turn = this.#pick([...this.#turns]);
    const { at, key, token, items, who } = turn;
    this.#turns.delete(turn);
    if (items.length === 0) return void at.deQueue(WORKER, { key, holder: { token } }).value;
    if (this.#chance.int(0, 2) === 0) {
      // `release` changes nothing of an item.
      at.nack(WORKER, { key, token, kind: 'release' });
      return;
    }
    const next = this.#chance.int(0, 2) === 0 ? [this.#item()] : [];
    const followUps = next.map((item) => ({ queue: 'q', item: newItem(item) }));
    at.ack(WORKER, { key, token, followUps, principal: who }).value;
    for (const id of items) this.#items.delete(id);
    this.#keep(next, who);
  }

  #item(): Sent {
    this.#ids += 1;
    return { key: this.#pick(KEYS), itemId: `i${this.#ids}`, payload: new Uint8Array(this.#chance.int(0, 900)) };
  }

  #keep(items: readonly Sent[], who: Who): void {
    for (const item of items) this.#items.set(item.itemId, { who, weight: weightOf(item) });
  }

  /** A bound is the reason only where it is reached, and reached it is the reason. */
  #isRefused(call: Call<unknown>, who: Who, bytes: number): boolean {
    const { turns, bytes: held } = this.#heldBy(who);
    const { outcome } = call;
    if (outcome === undefined || 'answer' in outcome) {
      assert.ok(
        who === undefined || bytes === 0 || held + bytes <= MOST_BYTES || isBlocked(outcome),
        `${who} holds more`,
      );
      return false;
    }
    const [, subject, limit] = bound(call);
    if (subject === TURNS) assert.deepEqual([turns, limit], [MOST_TURNS, MOST_TURNS]);
    else
      assert.ok(subject === BYTES && limit === MOST_BYTES && held + bytes > MOST_BYTES, `${who}: ${held} + ${bytes}`);
    this.refused[subject === TURNS ? 'turns' : 'bytes'] += 1;
    return true;
  }

  #heldBy(who: Who): { readonly turns: number; readonly bytes: number } {
    let [turns, bytes] = [0, 0];
    for (const turn of this.#turns)
      if (turn.who === who) [turns, bytes] = [turns + 1, bytes + TURN_COST + turn.key.length + WORKER.length];
    for (const item of this.#items.values()) if (item.who === who) bytes += item.weight;
    return { turns, bytes };
  }

  #check(): void {
    recountShared(this.#shared, this.#cores);
    for (const who of ['ada', 'bob'] as const) {
      const { turns, bytes } = this.#heldBy(who);
      assert.ok(turns <= MOST_TURNS, `${who} holds ${turns} turns`);
      const held = this.#cores.map((at) => at.held(who));
      assert.equal(
        held.reduce((sum, [one]) => sum + one, 0),
        turns,
        `turns of ${who}`,
      );
      assert.equal(
        held.reduce((sum, [, one]) => sum + one, 0),
        bytes,
        `bytes of ${who}`,
      );
    }
  }

  #pick<T>(from: readonly T[]): T {
    let left = this.#chance.int(0, from.length - 1);
    for (const one of from) if (left-- === 0) return one;
    throw new RangeError('nothing to pick from');
  }
}

function weightOf({ key, itemId, payload }: Sent): number {
  return 256 + payload.length + itemId.length + key.length;
}

/** BLOCK without a ticket holds nothing. */
function isBlocked(outcome: unknown): boolean {
  return JSON.stringify(outcome)?.includes('"block"') === true;
}

describe('S657 to S661: both bounds over two cores', () => {
  it('a principal holds exactly what a dumb list says, and no more than it may', (t) => {
    const sum = { turns: 0, bytes: 0 };
    let worlds = 0;
    for (const seed of seedsOf(t, 1, { usual: 60, fewest: 3 })) {
      const world = new World(seed);
      world.run();
      worlds += 1;
      sum.turns += world.refused.turns;
      sum.bytes += world.refused.bytes;
    }
    assert.ok(sum.turns > worlds && sum.bytes > worlds, `both bounds are met: ${JSON.stringify(sum)}`);
  });
});
