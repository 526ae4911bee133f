/** How much of what came together is done in one go, by either side of a link. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Coordinator } from '../../../src/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { enQueueRequest, settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { EventLoop } from './event-loop.js';
import { Linked, type Pipe } from './pipe.js';

const PIECE = 128;
const CALLS = 300;
const PARTITION = 3;
const KEYS: readonly string[] = Array.from({ length: CALLS }, (_, index) => `k${index}`);

/** A home and a gateway, each with a loop of its own. */
class TwoLoops {
  readonly clock = new FakeClock();
  readonly here = new EventLoop(this.clock);
  readonly there = new EventLoop(this.clock);
  readonly home: LocalCoordinator;
  readonly linked: Linked;
  readonly remote: Coordinator;
  /** What was answered and refused, in its order: the keys. */
  readonly answered: string[] = [];
  readonly refused: string[] = [];
  readonly tokens: number[] = [];

  constructor() {
    const given = settings({});
    this.home = new LocalCoordinator(given, { clock: this.clock, seed: 1 });
    this.linked = new Linked({
      limits: given.limits,
      home: (partition) => (partition === PARTITION ? this.home : undefined),
      gatewayScheduler: this.here,
      homeScheduler: this.there,
    });
    this.remote = this.linked.partition(PARTITION);
    this.settle();
  }

  get small(): Pipe {
    const pipe = this.linked.pipes.find(({ isOver }) => !isOver);
    assert.ok(pipe !== undefined, 'the stream is there');
    return pipe;
  }

  /** All keys are asked for in one message, which arrives. */
  ask(): void {
    for (const key of KEYS) {
      this.remote.enQueue(enQueueRequest({ key }), {
        answer: (answer) => {
          this.answered.push(key);
          if (answer.decision === 'accept') this.tokens.push(answer.turn.token);
          return true;
        },
        refuse: ({ kind }) => void this.refused.push(`${key} ${kind}`),
      });
    }
    this.here.end();
  }

  get held(): number {
    return this.home.stats().queues[0]?.view.liveTurns ?? 0;
  }

  settle(): void {
    while (!this.here.isIdle || !this.there.isIdle) {
      this.here.turn();
      this.there.turn();
    }
  }

  advance(ms: number): void {
    // Timers of either side are followed by what their loop has to do.
    for (let left = ms; left > 0; left -= 50) {
      this.clock.advance(Math.min(50, left));
      this.settle();
    }
  }

  cut(): void {
    for (const pipe of this.linked.pipes) pipe.cut();
  }
}

describe('S413: what comes together on a link', () => {
  it('is done at the home in pieces, and the answers of each leave before the next one is begun', () => {
    const stage = new TwoLoops();
    stage.ask();
    assert.deepEqual([stage.held, stage.answered.length], [PIECE, 0]);
    stage.there.end();
    assert.deepEqual([stage.held, stage.answered.length], [PIECE, PIECE]);
    stage.settle();
    assert.deepEqual(stage.answered, KEYS);
  });

  it('is told at the gateway in pieces, however many messages come meanwhile', () => {
    const stage = new TwoLoops();
    stage.small.down.isHeld = true;
    stage.ask();
    while (!stage.there.isIdle) stage.there.turn();
    assert.equal(stage.held, 2 * PIECE + 44);
    stage.small.down.isHeld = false;
    stage.small.down.flow();
    const told = [stage.answered.length];
    while (!stage.here.isIdle || !stage.there.isIdle) {
      stage.here.turn();
      stage.there.turn();
      told.push(stage.answered.length);
    }
    assert.deepEqual(told.slice(0, 2), [PIECE, 2 * PIECE]);
    assert.deepEqual(stage.answered, KEYS);
  });

  it('is done in its order', () => {
    const stage = new TwoLoops();
    stage.ask();
    stage.settle();
    assert.deepEqual(
      stage.tokens,
      [...stage.tokens].sort((one, other) => one - other),
    );
    assert.equal(stage.tokens.length, CALLS);
  });
});

describe('a link that breaks when a part of a message is done', () => {
  it('S288: and comes back within a second: the rest is done, and nothing twice', () => {
    const stage = new TwoLoops();
    stage.ask();
    assert.equal(stage.held, PIECE);
    stage.cut();
    stage.advance(500);
    assert.deepEqual([stage.answered, stage.refused], [KEYS, []]);
    assert.equal(stage.held, CALLS);
  });

  it('S289: for good: no more of it is done; what was answered stands, the rest may have been carried out', () => {
    const stage = new TwoLoops();
    stage.ask();
    stage.there.end();
    stage.linked.isReachable = false;
    stage.cut();
    // The home hears of the end before it goes on.
    stage.clock.advance(1_000);
    stage.settle();
    stage.advance(500);
    assert.equal(stage.held, PIECE);
    assert.deepEqual(stage.answered, KEYS.slice(0, PIECE));
    assert.deepEqual(
      stage.refused,
      KEYS.slice(PIECE).map((key) => `${key} store_unavailable`),
    );
  });
});
