/**
 * S271: the home of a partition is killed again and again, at any moment of its writes. Whatever a worker was told of a turn
 * that it has not ended, the next home knows: the turn lives, and nobody else has its key. `KEYTURN_SEED=…` runs one of the
 * seeds again.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer, Durability, EnQueueAnswer, Policy, RenewAnswer, Turn } from '../../../src/coordinator.js';
import { Chance } from '../../sim/random.js';
import { Call } from '../../support/call.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { seedsOf } from '../../support/runs.js';
import { DurableStage } from './stage.js';

const STEPS = 120;
const LONG = 3_600_000;
const LEASES = [LONG, LONG / 2] as const;

class Story {
  readonly #chance: Chance;
  /** Told and not ended by whoever has them, by key. */
  readonly #held = new Map<string, Turn>();
  /** Calls of this life that are not answered yet. */
  #asked: (() => boolean)[] = [];
  #stage: DurableStage;
  #newest = 0;
  told = 0;

  private constructor(
    chance: Chance,
    stage: DurableStage,
    private readonly policy: Partial<Policy>,
  ) {
    this.#chance = chance;
    this.#stage = stage;
  }

  static async begin(seed: number): Promise<Story> {
    const chance = new Chance(seed);
    const durability = chance.of<Durability>('interval', 'count', 'on_flush');
    const policy = { durability, lease: LONG, wait: 0 };
    const stage = await DurableStage.start({ policy, partition: PARTITION, disk: new MemoryDisk(chance.in100(50)) });
    return new Story(chance, stage, policy);
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.#step();
      this.#hear();
    }
    await this.#crash();
  }

  async #step(): Promise<void> {
    const chance = this.#chance;
    const key = `k${chance.int(0, 5)}`;
    const held = chance.of(undefined, ...this.#held.values());
    const lot = chance.int(0, 99);
    if (lot < 25) this.#expect(this.#stage.enQueue({ key }), turnOf);
    else if (lot < 40) this.#stage.submit([{ key, payload: new Uint8Array(chance.int(0, 20)) }]);
    else if (lot < 55) this.#expect(this.#stage.acquire(), ({ deliveries }) => deliveries[0]?.turn);
    else if (lot < 75 && held !== undefined) this.#end(held);
    else if (lot < 80 && held !== undefined) this.#renew(held);
    else if (lot < 90) await this.#stage.advance(chance.int(0, 30));
    else if (lot < 97) await this.#stage.flush();
    else await this.#crash();
  }

  /** What it answers is heard when it comes, if this home lives so long. */
  #expect<T>(call: Call<T>, turn: (answer: T) => Turn | undefined): void {
    this.#asked.push(() => {
      if (call.outcome === undefined) return false;
      const told = 'answer' in call.outcome ? turn(call.outcome.answer) : undefined;
      if (told === undefined) return true;
      assert.ok(!this.#held.has(told.key), `${told.key} is given while somebody has it`);
      assert.ok(told.token > this.#newest, `${told.token} after ${this.#newest}`);
      this.#newest = told.token;
      this.#held.set(told.key, told);
      this.told += 1;
      return true;
    });
  }

  /** From the moment on at which it is asked for, its worker does nothing more with it. */
  #end(turn: Turn): void {
    this.#held.delete(turn.key);
    if (turn.attempt === 0) return void this.#stage.end(turn);
    const lot = this.#chance.int(0, 2);
    if (lot === 0) this.#stage.nack(turn, { kind: 'release' });
    else if (lot === 1) this.#stage.ack(turn);
    else this.#expect<AckAnswer>(this.#stage.ack(turn, { next: ACQUIRE }), ({ next }) => next?.deliveries[0]?.turn);
  }

  #renew(turn: Turn): void {
    const call = new Call<RenewAnswer>();
    this.#stage.coordinator.renew({ turns: [turn], lease: this.#chance.of(...LEASES) }, call);
  }

  #hear(): void {
    this.#asked = this.#asked.filter((heard) => !heard());
  }

  async #crash(): Promise<void> {
    // What was being written is there, or it is not.
    const { disk } = this.#stage;
    if (this.#chance.in100(50)) {
      disk.fate = () => ({ does: 'tear', applied: this.#chance.in100(50) });
      await this.#stage.advance(this.#chance.int(0, 100));
      this.#hear();
      this.#asked = [];
    }
    this.#hear();
    this.#asked = [];
    this.#stage = await this.#next(disk);
    for (const turn of this.#held.values()) {
      const call = new Call<RenewAnswer>();
      this.#stage.coordinator.renew({ turns: [turn], lease: undefined }, call);
      await this.#stage.flush();
      assert.equal(
        call.value.results[0]?.alive,
        true,
        `${turn.key} ${turn.token}: its worker was told, and it is gone`,
      );
    }
  }

  #next(disk: MemoryDisk): Promise<DurableStage> {
    disk.fate = () => ({ does: 'succeed' });
    return this.#stage.restart({ policy: this.policy, partition: PARTITION }).recovered();
  }
}

const PARTITION = { number: 5, of: 64, tokenFloor: 0 };
const ACQUIRE = {
  queues: ['q'],
  key: undefined,
  consumerId: 'w',
  ticket: undefined,
  maxTurns: 1,
  maxItemsPerTurn: 1,
  wait: 0,
  lease: undefined,
};

function turnOf(answer: EnQueueAnswer): Turn | undefined {
  return answer.decision === 'accept' ? answer.turn : undefined;
}

describe('S271: a home that is killed', () => {
  it('takes no turn with it of which anybody was told, whatever the durability', async (t) => {
    let [told, worlds] = [0, 0];
    for (const one of seedsOf(t, 1, { usual: 60, fewest: 3 })) {
      worlds += 1;
      const story = await Story.begin(one);
      await story.run().catch((error: unknown) => {
        throw new Error(`seed ${one}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      });
      told += story.told;
    }
    assert.ok(told > worlds * 5, `${told} turns were told`);
  });
});
