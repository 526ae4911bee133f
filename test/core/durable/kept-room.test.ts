/** S524: places of a full queue that are kept for follow-ups of other partitions, beside producers that ask all the time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliverAnswer, FollowUp, Parcel, SubmitAnswer } from '../../../src/coordinator.js';
import { Chance } from '../../sim/random.js';
import { bytes, newItem, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { Lives } from './reborn.js';

const PARTITIONS = 64;
const TARGET = 2;
const STEP = 10;
const MINUTE = 60_000;

let stamps = 1_000;

/** Of another partition, each follow-up for one of these queues. */
function parcelTo(...queues: readonly string[]): Parcel {
  stamps += PARTITIONS;
  const followUps: FollowUp[] = queues.map((queue, at) => ({
    queue,
    item: newItem({ payload: bytes('p'), itemId: `${stamps}-${at}`, key: `${stamps}-${at}` }),
    target: TARGET,
  }));
  return { stamp: stamps, followUps };
}

function parcelOf(size: number): Parcel {
  return parcelTo(...Array.from({ length: size }, () => 'other'));
}

/** A partition that sends, as a home does: again after 20 ms, then after twice as long each time, up to 1 s. */
class Sender {
  pause = 20;
  came = 0;

  constructor(
    readonly source: number,
    readonly parcels: Parcel[],
    public at: number,
  ) {}

  heard(upTo: number | undefined, now: number): void {
    this.at = now + (upTo === undefined ? this.pause : 0);
    this.pause = upTo === undefined ? Math.min(1_000, 2 * this.pause) : 20;
    while ((this.parcels[0]?.stamp ?? Number.POSITIVE_INFINITY) <= (upTo ?? 0)) {
      this.parcels.shift();
      this.came += 1;
    }
  }
}

class World {
  readonly lives: Lives;
  readonly senders: Sender[] = [];
  /** What others do, every {@link STEP} ms. */
  each: () => void = () => undefined;
  left = 0;

  constructor(maxWaiting: number, more: SettingsChange['queues'] = {}) {
    const queues = { other: { durable: true, maxWaiting, lease: MINUTE }, ...more };
    this.lives = new Lives({ queues }, true, { number: TARGET, of: PARTITIONS });
    this.lives.flush();
  }

  get stage(): Lives['stage'] {
    return this.lives.stage;
  }

  get waiting(): number {
    return this.stage.core.inside.queues.get('other')?.waiting ?? 0;
  }

  get kept(): number {
    return this.stage.core.inside.keptRoom.size;
  }

  sent(source: number, ...parcels: readonly Parcel[]): Call<DeliverAnswer> {
    const call = new Call<DeliverAnswer>();
    this.stage.core.deliver({ source, parcels }, call, this.stage.now);
    this.stage.carry();
    recount(this.stage.core.inside, this.stage.now);
    return call;
  }

  /** From then on that partition sends these, until they came. */
  sends(source: number, parcels: Parcel[], after = 0): Sender {
    const sender = new Sender(source, parcels, this.stage.now + after);
    this.senders.push(sender);
    return sender;
  }

  submit(wait = 0, count = 1, queue = 'other'): Call<SubmitAnswer> {
    return this.stage.submit(
      's',
      Array.from({ length: count }, () => ({})),
      queue,
      wait,
    );
  }

  /** A worker takes an item, and is done with it. */
  take(queue = 'other'): boolean {
    const [delivery] = this.stage.acquire('w', { queues: [queue] }).value.deliveries;
    if (delivery === undefined) return false;
    const { key, token } = delivery.turn;
    this.stage.ack('w', { queue, key, token });
    this.left += 1;
    return true;
  }

  pass(ms: number): void {
    const { stage } = this;
    for (const end = stage.now + ms; stage.now < end; ) {
      stage.pass(STEP);
      this.each();
      for (const sender of this.senders) {
        if (sender.parcels.length === 0 || stage.now < sender.at) continue;
        const { outcome } = this.sent(sender.source, ...sender.parcels.slice(0, 100));
        sender.heard(outcome !== undefined && 'answer' in outcome ? outcome.answer.upTo : undefined, stage.now);
      }
    }
  }

  /** So many Submits of producers wait for room at any time. */
  greedy(calls: number, count = 1): void {
    const waits = this.stage.core.inside.queues.get('other')?.roomWaiters.size ?? 0;
    for (let missing = calls - waits; missing > 0; missing -= 1) this.submit(MINUTE, count);
  }
}

function accepted({ outcome }: Call<SubmitAnswer>): boolean {
  return outcome !== undefined && 'answer' in outcome;
}

/** The queue is full, and a parcel of another partition was told so. */
function full(maxWaiting: number, size: number, source = 1): { readonly world: World; readonly parcel: Parcel } {
  const world = new World(maxWaiting);
  for (let at = 0; at < maxWaiting; at += 1) world.submit();
  const parcel = parcelOf(size);
  assert.equal(world.sent(source, parcel).refusal.kind, 'queue_full');
  return { world, parcel };
}

describe('S524: a parcel of follow-ups to a full queue', () => {
  it('has every second place that comes free kept; who asks all the time gets the others', () => {
    const { world, parcel } = full(4, 2);
    for (const isKept of [true, false, true]) {
      world.take();
      assert.equal(accepted(world.submit()), !isKept);
      if (world.waiting > 2) assert.equal(world.sent(1, parcel).refusal.kind, 'queue_full');
    }
    const { refusal } = world.submit();
    assert.match(
      refusal.kind === 'queue_full' ? refusal.description : refusal.kind,
      /max_waiting allows: 4, with 2 that are kept for follow-ups from other groups/,
    );
    for (const caller of ['holder', 'caller']) world.stage.enQueue(caller, { queue: 'other', key: 'x', wait: 1_000 });
    assert.deepEqual(world.stage.told.slice(-1), ['caller QUEUE_FULL']);
    assert.equal(world.sent(1, parcel).value.upTo, parcel.stamp);
    world.take();
    assert.ok(accepted(world.submit()), 'nothing is kept any more');
  });

  it('has nothing kept in a queue from which nothing leaves: a place that is free is everybody’s', () => {
    const world = new World(2);
    world.submit();
    assert.equal(world.sent(1, parcelOf(2)).refusal.kind, 'queue_full');
    assert.ok(accepted(world.submit()));
  });

  it('has places kept for 7 s after it was sent last, then whoever waits gets them', () => {
    const { world, parcel } = full(2, 2);
    world.take();
    const waits = world.submit(30_000);
    world.stage.pass(2_000);
    world.sent(1, parcel);
    world.stage.pass(6_999);
    assert.ok(waits.open);
    world.stage.pass(1);
    assert.ok(accepted(waits));
    assert.equal(world.kept, 0);
  });

  it('has them given up when no more comes free for 30 s, and stays away for a minute, then for two: what must leave first may need a place', () => {
    const { world, parcel } = full(2, 2);
    world.sends(1, [parcel]);
    for (const away of [MINUTE, 2 * MINUTE]) {
      world.take();
      let waits = world.submit(MINUTE);
      // It was their turn.
      if (!waits.open) world.take();
      if (!waits.open) waits = world.submit(MINUTE);
      const began = world.stage.now;
      while (waits.open) world.pass(STEP);
      assert.ok(accepted(waits));
      const kept = world.stage.now - began;
      assert.ok(kept >= 30_000 && kept <= 31_500, `given up after ${kept} ms`);
      for (const end = world.stage.now + away - 500; world.stage.now < end; ) {
        world.take();
        assert.ok(accepted(world.submit()), 'nothing is kept');
        world.pass(500);
      }
      world.pass(2_000);
    }
  });

  it('is forgotten at a whole ms, whatever the clock of the process says between', () => {
    const { world, parcel } = full(2, 2);
    world.stage.pass(0.3);
    world.take();
    world.sends(1, [parcel]);
    for (const ms of [31_000, 30_000]) {
      world.pass(ms);
      recount(world.stage.core.inside, world.stage.now);
    }
    world.senders.length = 0;
    // Nobody is in the line: the time for which the partition stays away is what is waited for.
    world.pass(10_000);
    const [kept] = world.stage.core.inside.keptRoom.values();
    assert.ok(kept !== undefined && kept.line.size === 0);
    assert.ok(Number.isInteger(kept.due), `${kept.due}`);
  });

  it('that stays away does not keep others from having places kept, after as long a rest as nothing came free', () => {
    const { world, parcel } = full(2, 2);
    world.sends(1, [parcel]);
    const small = world.sends(3, [parcelOf(1), parcelOf(1)]);
    world.take();
    world.pass(31_500);
    assert.equal(small.came, 1, 'a place is free, and kept for nobody');
    for (let time = 0; time < 2; time += 1) {
      world.take();
      assert.ok(accepted(world.submit()), 'it rests');
    }
    world.pass(30_000);
    world.take();
    world.greedy(1);
    world.take();
    world.greedy(1);
    world.pass(2_000);
    assert.equal(small.came, 2);
  });

  it('is not waited for when it is gone: who comes behind it is the first then', () => {
    const { world } = full(2, 1);
    const two = parcelOf(1);
    for (let ms = 0; ms < 8_000; ms += 1_000) {
      assert.equal(world.sent(3, two).refusal.kind, 'queue_full');
      world.stage.pass(1_000);
    }
    for (let time = 0; time < 2; time += 1) {
      world.take();
      world.submit();
    }
    assert.equal(world.sent(3, two).value.upTo, two.stamp);
  });

  it('has fewer kept when it needs fewer', () => {
    const policy = { durable: true, maxWaiting: 4, lease: MINUTE, waitingPerKey: 1, whenFull: 'decline' } as const;
    const world = new World(4, { other: policy });
    const { stage } = world;
    for (const key of ['a', 'b', 'c', 'd']) stage.submit('s', [{ key }], 'other');
    const parcel = parcelOf(3);
    assert.equal(world.sent(1, parcel).refusal.kind, 'queue_full');
    const turns = [1, 2, 3].map((time) => {
      if (time === 3) stage.submit('s', [{ key: 'e' }], 'other');
      return stage.acquire('w', { queues: ['other'] }).value.deliveries[0]?.turn ?? assert.fail('no turn');
    });
    for (const [at, { key, token }] of turns.slice(0, 2).entries()) {
      const followUps = [{ queue: 'other', item: newItem({ key: parcel.followUps[at]?.item.key ?? '' }) }];
      assert.equal(stage.ack('w', { queue: 'other', key, token, followUps }).value.followUps[0]?.decision, 'accept');
    }
    assert.equal(world.sent(1, parcel).refusal.kind, 'queue_full', 'one is needed still');
    recount(stage.core.inside, stage.now);
  });

  it('has them given up when Acks are in what is kept for 30 s', () => {
    const { world, parcel } = full(2, 1);
    world.sends(1, [parcel]);
    const goesRound = () => {
      const [delivery] = world.stage.acquire('w', { queues: ['other'] }).value.deliveries;
      const { key, token } = delivery?.turn ?? assert.fail('no turn');
      const isRefused = !accepted(world.submit());
      if (!isRefused) return false;
      const followUps = [{ queue: 'other', item: newItem({ key }) }];
      assert.ok(world.stage.ack('w', { queue: 'other', key, token, followUps }).value);
      return true;
    };
    let rounds = 0;
    while (goesRound()) {
      rounds += 1;
      world.pass(100);
    }
    assert.ok(rounds >= 300 && rounds <= 320, `${rounds} rounds`);
  });

  it('takes no place that came free for a Submit that waits for several', () => {
    const { world, parcel } = full(4, 1);
    const waits = world.submit(MINUTE, 2);
    world.take();
    assert.equal(world.sent(1, parcel, parcelOf(1)).value.upTo, parcel.stamp, 'the first place is for it');
    const next = parcelOf(1);
    assert.equal(world.sent(1, next).refusal.kind, 'queue_full');
    world.take();
    assert.equal(world.sent(1, next).refusal.kind, 'queue_full', 'the second one is not');
    world.take();
    assert.equal(world.sent(1, next).value.upTo, next.stamp);
    world.take();
    assert.ok(accepted(waits));
  });

  it('has no place kept that does not come free: an item that replaces another takes its place', () => {
    const policy = { durable: true, maxWaiting: 3, lease: MINUTE, waitingPerKey: 1, whenFull: 'replace' } as const;
    const world = new World(3, { other: policy });
    const submit = (key: string) => world.stage.submit('s', [{ key }], 'other');
    for (const key of ['a', 'b', 'c']) submit(key);
    assert.equal(world.sent(1, parcelOf(2)).refusal.kind, 'queue_full');
    for (let time = 0; time < 5; time += 1) assert.ok(accepted(submit('c')));
    world.take();
    assert.equal(accepted(submit('d')), false, 'the first place is kept');
    world.take();
    assert.ok(accepted(submit('d')), 'the second one is not');
  });

  it('has none kept by an item that replaces another in a queue that has room', () => {
    const policy = { durable: true, maxWaiting: 6, lease: MINUTE, waitingPerKey: 1, whenFull: 'replace' } as const;
    const world = new World(6, { other: policy });
    const submit = (key: string) => world.stage.submit('s', [{ key }], 'other');
    for (const key of ['a', 'b']) submit(key);
    assert.equal(world.sent(1, parcelOf(5)).refusal.kind, 'queue_full');
    for (let time = 0; time < 9; time += 1) assert.ok(accepted(submit('a')));
    for (const key of ['c', 'd', 'e', 'f']) assert.ok(accepted(submit(key)));
  });

  it('keeps nothing from an Ack of a worker here: its turn may be what keeps the queue full', () => {
    const { world } = full(2, 2);
    const { stage } = world;
    const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
    const { token, key } = delivery?.turn ?? assert.fail('no turn');
    const followUps: FollowUp[] = [{ queue: 'other', item: newItem({ key: 'next' }) }];
    assert.equal(stage.ack('w', { queue: 'other', key, token, followUps }).value.followUps[0]?.decision, 'accept');
    recount(stage.core.inside, stage.now);
  });

  it('is served in the order in which partitions were refused, however many more parcels one of them has', () => {
    const { world, parcel } = full(2, 1);
    const [many, one] = [[parcel, parcelOf(1)], parcelOf(1)];
    assert.equal(world.sent(3, one).refusal.kind, 'queue_full');
    world.take();
    assert.equal(world.sent(3, one).refusal.kind, 'queue_full', 'it is kept for the first');
    assert.equal(world.sent(1, ...many).value.upTo, parcel.stamp);
    assert.equal(world.sent(1, ...many.slice(1)).refusal.kind, 'queue_full');
    world.take();
    assert.ok(accepted(world.submit()));
    world.take();
    assert.equal(world.sent(1, ...many.slice(1)).refusal.kind, 'queue_full', 'now it is behind');
    assert.equal(world.sent(3, one).value.upTo, one.stamp);
  });

  it('for two queues has nothing kept: one of them may stand still', () => {
    const one = { durable: true, maxWaiting: 1, lease: MINUTE };
    const world = new World(1, { still: one, moves: one });
    for (const queue of ['still', 'moves']) world.submit(0, 1, queue);
    assert.equal(world.sent(3, parcelTo('still', 'moves')).refusal.kind, 'queue_full');
    world.take('moves');
    assert.ok(accepted(world.submit(0, 1, 'moves')));
  });

  it('that is more than max_waiting has nothing kept, and comes when nothing waits', () => {
    const { world, parcel } = full(2, 3);
    assert.equal(world.kept, 0);
    world.take();
    assert.ok(accepted(world.submit()));
    world.take();
    world.take();
    assert.equal(world.sent(1, parcel).value.upTo, parcel.stamp);
  });

  it('that comes, or is sent to another queue, leaves nothing behind', () => {
    const { world } = full(1, 1);
    world.take();
    assert.equal(accepted(world.submit()), false);
    assert.ok(world.sent(1, parcelTo('third')).value.upTo > 0);
    assert.ok(accepted(world.submit()));
    world.stage.pass(7_000);
    assert.equal(world.kept, 0);
  });
});

describe('S524: follow-ups and producers in one full queue', () => {
  for (const sources of [1, 2, 16])
    it(`what must leave first gets its place, with ${sources} partitions that send`, () => {
      const chance = new Chance(sources);
      for (let run = 0; run < 20; run += 1) {
        const world = new World(2);
        const after = [{ queue: 'other', itemId: 'first' }];
        world.stage.submit('s', [{ key: 'x', itemId: 'x', after, afterUnknown: 'wait' }, {}], 'other');
        for (let source = 0; source < sources; source += 1)
          world.sends(10 + source, [parcelOf(2)], chance.int(0, 29_999));
        world.pass(chance.int(0, 29_999));
        world.take();
        const first = world.stage.submit('s', [{ key: 'first', itemId: 'first' }], 'other', MINUTE);
        for (const end = world.stage.now + MINUTE; first.open && world.stage.now < end; ) world.pass(100);
        assert.ok(accepted(first), JSON.stringify(first.outcome));
      }
    });

  for (const [sources, everyMs, batch] of [
    [1, 50, 1],
    [1, 250, 10],
    [2, 1_000, 2],
    [8, 1_000, 1],
    [63, 250, 5],
  ] as const)
    it(`half of the places are for each side, with ${sources} partitions, a place every ${everyMs} ms and Submits of ${batch}`, () => {
      const world = new World(20);
      for (let at = 0; at < 20; at += 1) world.submit();
      for (let source = 0; source < sources; source += 1)
        world.sends(
          100 + source,
          Array.from({ length: 2_000 }, () => parcelOf(1)),
          137 * source,
        );
      let next = world.stage.now;
      world.each = () => {
        world.greedy(5, batch);
        if (world.stage.now < next) return;
        next += everyMs;
        world.take();
      };
      world.pass(MINUTE);
      const came = world.senders.reduce((sum, sender) => sum + sender.came, 0);
      // Senders pause for up to a second: what is kept for one of them stands empty meanwhile, and others go on.
      assert.ok(came >= 0.15 * world.left && came <= 0.55 * world.left, `${came} parcels while ${world.left} left`);
    });

  for (const [size, everyMs] of [
    [1, 12_000],
    [1, 60_000],
    [2, 11_000],
    [5, 4_000],
  ] as const)
    it(`${size} follow-ups come into a queue of 5 from which one leaves every ${everyMs / 1_000} s`, () => {
      for (let phase = 0; phase < everyMs; phase += everyMs / 8) {
        const world = new World(5);
        for (let at = 0; at < 5; at += 1) world.submit();
        const sender = world.sends(1, [parcelOf(size)]);
        let next = world.stage.now + phase;
        world.each = () => {
          world.greedy(3);
          if (world.stage.now < next) return;
          next += everyMs;
          world.take();
        };
        const most = (2 * size + 4) * everyMs;
        for (const end = world.stage.now + most; sender.came === 0 && world.stage.now < end; ) world.pass(100);
        assert.equal(sender.came, 1, `after ${phase} ms`);
      }
    });

  it('at random, with queues that replace, restarts and silence: all is counted, and nothing is left', () => {
    const chance = new Chance(7);
    for (let run = 0; run < 30; run += 1) {
      const policy = { durable: true, lease: MINUTE, maxDeadLetters: 2 };
      const replaces = { ...policy, maxWaiting: 3, waitingPerKey: 1, whenFull: 'replace' } as const;
      const world = new World(1 + chance.int(0, 5), { replaces });
      const queue = () => chance.of('other', 'other', 'replaces');
      for (const source of [1, 3, 4, 5]) {
        const sizes = Array.from({ length: 10 }, () => 1 + chance.int(0, 3));
        const one = () => Array.from({ length: sizes.pop() ?? 1 }, () => 'other');
        world.sends(
          source,
          Array.from({ length: 10 }, () => parcelTo(...(chance.int(0, 3) === 0 ? ['replaces', 'other'] : one()))),
          chance.int(0, 7_999),
        );
      }
      for (let step = 0; step < 200; step += 1) {
        const what = chance.int(0, 19);
        if (what < 6) world.stage.submit('s', [{ key: `k${chance.int(0, 4)}` }], queue(), chance.int(0, 1) * 8_000);
        else if (what < 12) world.take(queue());
        else if (what < 14) world.stage.enQueue('c', { queue: queue(), key: `k${chance.int(0, 4)}`, wait: 3_000 });
        else if (what === 14) {
          world.lives.flush();
          world.lives.restart({ away: chance.int(0, 19_999) });
        }
        world.lives.flush();
        recount(world.stage.core.inside, world.stage.now);
        world.pass(STEP * (1 + chance.int(0, 99)));
      }
      world.senders.length = 0;
      // The longest rest, and the silence of those that were in line.
      world.pass(16 * MINUTE + 8_000);
      assert.equal(world.kept, 0);
    }
  });
});
