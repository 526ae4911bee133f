import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnQueueAnswer, Reply } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { acquireRequest, deQueueRequest, enQueueRequest, newItem, QUEUE, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';

/** How often the core looks after itself, whatever else there is. */
const HOUSEKEEPING = 10_000;
/** Timers taken in hand in one go. */
const BUDGET = 1_000;

/** Counts how often a timer was armed, and looks in between wherever the loop lets others have their say. */
class WatchedClock extends FakeClock {
  armed = 0;
  inBetween: (() => void) | undefined;

  override after(ms: number, task: () => void): () => void {
    this.armed += 1;
    return super.after(ms, task);
  }

  override soon(task: () => void): void {
    super.soon(() => {
      this.inBetween?.();
      task();
    });
  }
}

function setUp() {
  const clock = new WatchedClock();
  const coordinator = new LocalCoordinator(settings(), { clock, seed: 1 });
  const enQueue = (key: string, lease: number, wait = 0, reply: Reply<EnQueueAnswer> = new Call<EnQueueAnswer>()) =>
    coordinator.enQueue(enQueueRequest({ key, lease, wait }), reply);
  const live = () => coordinator.stats().queues[0]?.view.liveTurns ?? 0;
  return { clock, coordinator, enQueue, live };
}

describe('the loop', () => {
  it('has one timer armed, however many leases there are', () => {
    const { clock, enQueue } = setUp();
    for (let i = 0; i < 500; i++) enQueue(`k${i}`, 1_000 + ((i * 7_919) % 30_000));
    assert.equal(clock.pending, 1);
    clock.advance(15_000);
    assert.equal(clock.pending, 1);
  });

  it('arms it anew only for what is earlier', () => {
    const { clock, enQueue } = setUp();
    const armedFor = (lease: number) => {
      const before = clock.armed;
      enQueue(`lease ${lease}`, lease);
      return clock.armed - before;
    };
    assert.deepEqual([HOUSEKEEPING * 2, 5_000, 6_000, 5_000, 4_000].map(armedFor), [0, 1, 0, 0, 1]);
  });

  it('wakes up at the moment that is due, and not in between', () => {
    const { clock, enQueue, live } = setUp();
    enQueue('k', 5_000);
    clock.advance(4_999);
    assert.equal(live(), 1);
    clock.advance(1);
    assert.equal(live(), 0);
  });

  it('waits on when its timer went off early', () => {
    const { clock, coordinator, enQueue, live } = setUp();
    enQueue('k', 5_000);
    const before = clock.armed;
    // The earlier deadline is gone when its timer goes off.
    const short = new Call<EnQueueAnswer>();
    enQueue('short', 1_000, 0, short);
    const { value } = short;
    assert.ok(value.decision === 'accept');
    coordinator.deQueue(deQueueRequest({ key: 'short', holder: { token: value.turn.token } }), new Call());
    clock.advance(4_999);
    assert.equal(live(), 1);
    assert.ok(clock.armed - before <= 5);
    clock.advance(1);
    assert.equal(live(), 0);
  });

  it('carries out what the one who is answered asks for next after what was to be done before', () => {
    const { coordinator } = setUp();
    const told: string[] = [];
    const reply = (name: string, next?: () => void): Reply<EnQueueAnswer> => ({
      answer({ decision }) {
        told.push(`${name} ${decision}`);
        next?.();
        told.push(`${name} has asked`);
        return true;
      },
      refuse: () => assert.fail(),
    });
    const first = new Call<EnQueueAnswer>();
    coordinator.enQueue(enQueueRequest(), first);
    assert.ok(first.value.decision === 'accept');
    // Two are told in one step: the one that is superseded by nobody, but promoted, and the one that ends its turn.
    coordinator.enQueue(
      enQueueRequest({ wait: 1_000 }),
      reply('second', () => coordinator.enQueue(enQueueRequest({ key: 'other' }), reply('third'))),
    );
    coordinator.deQueue(deQueueRequest({ holder: { token: first.value.turn.token } }), {
      answer: ({ promoted }) => told.push(`first promoted ${promoted}`) > 0,
      refuse: () => assert.fail(),
    });
    assert.deepEqual(told, [
      'second accept',
      'second has asked',
      'first promoted true',
      'third accept',
      'third has asked',
    ]);
  });

  it('works off a mass of leases that end together in slices, and answers others in between', () => {
    const { clock, enQueue, live } = setUp();
    const mass = 10 * BUDGET;
    for (let i = 0; i < mass; i++) enQueue(`k${i}`, 5_000);
    assert.equal(live(), mass);
    let before = mass;
    let slices = 0;
    clock.inBetween = () => {
      slices += 1;
      const now = live();
      assert.ok(before - now <= BUDGET, 'no slice is larger than the budget');
      before = now;
      const other = new Call<EnQueueAnswer>();
      enQueue('other', 1_000, 0, other);
      assert.ok(!other.open, 'answered at once');
      assert.ok(clock.pending <= 1, 'no timer is armed beside the slices');
    };
    clock.advance(5_000);
    assert.ok(slices >= mass / BUDGET - 1, `${slices} slices`);
    assert.equal(live(), 1);
    assert.equal(clock.pending, 1);
  });

  it('works off the turns of a broken session in slices too, whatever else ends with them', () => {
    const { clock, coordinator, enQueue, live } = setUp();
    const mass = 10 * BUDGET;
    const opened = coordinator.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(opened.ok);
    const session = opened.value;
    session.hello({ consumerId: 'worker', sessionId: undefined, ttl: 5_000 }, new Call());
    for (let i = 0; i < mass; i++) session.enQueue(enQueueRequest({ key: `tied ${i}` }), new Call());
    session.close();
    for (let i = 0; i < mass; i++) enQueue(`k${i}`, 5_000);
    assert.equal(live(), 2 * mass);
    let before = 2 * mass;
    let slices = 0;
    clock.inBetween = () => {
      slices += 1;
      assert.ok(before - live() <= BUDGET, 'no slice is larger than the budget');
      before = live();
    };
    clock.advance(5_000);
    assert.ok(slices >= (2 * mass) / BUDGET - 1, `${slices} slices`);
    assert.equal(live(), 0);
    assert.equal(clock.pending, 1);
  });

  it('lets go of its timer when it is closed, and refuses those who wait', () => {
    const { clock, coordinator, enQueue } = setUp();
    enQueue('k', 5_000);
    const waiting = new Call<EnQueueAnswer>();
    enQueue('k', 5_000, 1_000, waiting);
    coordinator.close();
    assert.equal(clock.pending, 0);
    assert.equal(waiting.refusal.kind, 'draining');
    coordinator.deQueue(deQueueRequest({ holder: { ticket: 'none' } }), new Call());
    assert.equal(clock.pending, 0);
  });

  it('closed between two slices it does no more', () => {
    const { clock, coordinator, enQueue } = setUp();
    for (let i = 0; i < 3 * BUDGET; i++) enQueue(`k${i}`, 5_000);
    clock.inBetween = () => {
      clock.inBetween = undefined;
      coordinator.close();
    };
    clock.advance(5_000);
    assert.equal(clock.pending, 0);
  });

  it('follows a wall clock that was set, though nobody asks anything: the end of a lease is told by it', () => {
    const { clock, coordinator, enQueue } = setUp();
    const opened = coordinator.admin.watch(undefined, undefined, { wake: () => undefined, end: () => undefined });
    assert.ok(opened.ok);
    const watch = opened.value;
    enQueue('k', 5_000);
    for (const step of [86_400_000, -2 * 86_400_000]) {
      watch.take();
      clock.stepWall(step);
      clock.advance(5_000);
      const told = watch.take().events.map(({ kind, at }) => ({ kind, at }));
      assert.deepEqual(told, [{ kind: 'expiry', at: clock.wall() }]);
      const next = new Call<EnQueueAnswer>();
      enQueue('k', 5_000, 0, next);
      assert.ok(next.value.decision === 'accept');
      assert.equal(next.value.turn.leaseExpiresAt, clock.wall() + 5_000);
    }
  });

  it('does not take an event of the wall clock for time: a step moves no lease', () => {
    const { clock, enQueue, live } = setUp();
    enQueue('k', 5_000);
    for (const step of [86_400_000, -2 * 86_400_000]) {
      clock.stepWall(step);
      clock.advance(1_000);
      assert.equal(live(), 1);
    }
    clock.advance(3_000);
    assert.equal(live(), 0);
  });
});

describe('the end', () => {
  it('a drain resolves when the last turn ends, and says that nothing was lost', async () => {
    const { coordinator } = setUp();
    const first = new Call<EnQueueAnswer>();
    coordinator.enQueue(enQueueRequest(), first);
    assert.ok(first.value.decision === 'accept');
    const drained = coordinator.drain(60_000);
    coordinator.deQueue(deQueueRequest({ holder: { token: first.value.turn.token } }), new Call());
    assert.deepEqual(await drained, { liveTurns: 0, lostItems: 0 });
  });

  it('a drain that takes too long says how many turns live and how many items are lost', async () => {
    const { clock, coordinator } = setUp();
    coordinator.submit(
      { queue: QUEUE, items: [newItem(), newItem({ key: 'b' })], waitForRoom: 0, durability: undefined },
      new Call(),
    );
    coordinator.acquire(acquireRequest(), new Call());
    const drained = coordinator.drain(1_000);
    assert.equal(coordinator.drain(5), drained, 'a second call changes nothing');
    clock.advance(1_000);
    assert.deepEqual(await drained, { liveTurns: 1, lostItems: 2 });
  });
});
