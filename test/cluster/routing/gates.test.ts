/** S411: how many calls wait for a home is counted; here it is counted anew after every step, whatever an answer leads to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Gates, type HeldCall } from '../../../src/cluster/routing/gates.js';
import type { Source } from '../../../src/cluster/routing/target.js';
import { DRAINING } from '../../../src/core/contract/refusals.js';
import { Chance } from '../../sim/random.js';
import { FakeClock } from '../../support/fake-clock.js';
import { seedsOf } from '../../support/runs.js';
import { RoutingStage } from './stage.js';

const PARTITIONS = 3;
/** Whose calls they are; nobody asks them for anything. */
const SOURCES = [0, 1].map((): Source => ({ target: () => undefined, calls: new RoutingStage().coordinator }));

type End = 'waits' | 'taken' | 'failed' | 'refused';

class FakeCall implements HeldCall {
  isOver = false;
  end: End = 'waits';
  refusals = 0;

  constructor(
    readonly deadline: number,
    private readonly world: World,
    readonly partition: number,
  ) {}

  ask(): boolean {
    assert.equal(this.end, 'waits', 'it is asked once it was answered');
    if (!this.world.isOpen(this.partition)) return false;
    this.end = 'taken';
    this.world.happens();
    if (!this.world.chance.in100(5)) return true;
    this.end = 'failed';
    throw new Error('a failure of our own');
  }

  giveUp(): void {
    this.refusals += 1;
    if (this.end === 'waits') this.end = 'refused';
    this.world.happens();
  }
}

class World {
  readonly clock = new FakeClock();
  readonly chance: Chance;
  readonly gates: Gates;
  readonly calls: FakeCall[] = [];
  readonly #open = new Set<number>();
  #depth = 0;
  isClosed = false;

  constructor(seed: number) {
    this.chance = new Chance(seed);
    const homes = { whyNone: () => 'of chance', home: () => undefined, look: () => undefined };
    this.gates = new Gates(this.clock, homes, () => 'id');
  }

  isOpen(partition: number): boolean {
    return this.#open.has(partition);
  }

  /** Whoever is answered asks the next thing, or ends all. */
  happens(): void {
    if (this.#depth >= 3 || !this.chance.in100(30)) return;
    this.#depth += 1;
    this.step();
    this.#depth -= 1;
  }

  step(): void {
    const { chance, gates } = this;
    const partition = chance.int(0, PARTITIONS - 1);
    const source = SOURCES[chance.int(0, 1)] ?? assert.fail('there are two');
    const lot = chance.int(0, 199);
    if (lot === 0) this.close();
    else if (lot < 110) this.#hold(source, partition);
    else if (lot < 130) this.#callOff();
    else if (lot < 150) {
      if (!this.#open.delete(partition)) this.#open.add(partition);
      gates.changed([partition]);
    } else if (lot < 170) gates.opened(source, partition);
    else if (this.#depth === 0) this.clock.advance(chance.int(0, 60));
  }

  #hold(source: Source, partition: number): void {
    const call = new FakeCall(this.clock.now() + this.chance.int(0, 500), this, partition);
    this.calls.push(call);
    this.gates.hold(source, partition, call);
  }

  #callOff(): void {
    const waiting = this.calls.filter(({ end, isOver }) => end === 'waits' && !isOver);
    const call = waiting[this.chance.int(0, waiting.length - 1)];
    if (call !== undefined) call.isOver = true;
  }

  close(): void {
    this.isClosed = true;
    this.gates.close(DRAINING);
  }

  /** Those that wait; of those that were called off it may have some still, until it asks the next time. */
  recount(): void {
    const waiting = this.calls.filter(({ end }) => end === 'waits');
    const calledOff = waiting.filter(({ isOver }) => isOver).length;
    const { size } = this.gates;
    assert.ok(
      size <= waiting.length && size >= waiting.length - calledOff,
      `${size} are counted, ${waiting.length} wait, of which ${calledOff} were called off`,
    );
    if (this.isClosed) assert.equal(size, 0, 'nothing is held when it is closed');
    for (const { refusals } of this.calls) assert.ok(refusals <= 1, 'each is refused once');
  }
}

describe('calls that wait for a home', () => {
  it('S411: are counted right after every step, and none is forgotten when all ends in the midst of an answer', (t) => {
    let closedWithin = 0;
    for (const seed of seedsOf(t, 0, { usual: 300, fewest: 20 })) {
      const world = new World(seed);
      for (let step = 0; step < 150 && !world.isClosed; step += 1) {
        world.step();
        world.recount();
      }
      if (world.isClosed) closedWithin += 1;
      else world.close();
      world.recount();
      for (const { end, isOver } of world.calls) assert.ok(end !== 'waits' || isOver, `a call is left, seed ${seed}`);
    }
    assert.ok(closedWithin > 0, 'all ended in the midst of something');
  });
});
