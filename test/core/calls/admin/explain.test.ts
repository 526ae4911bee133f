/** What people are told of a key, where it was not so (E1). The rest: `test/contract/administration.ts`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CoordinatorEvent, Policy } from '../../../../src/coordinator.js';
import { KEY, QUEUE } from '../../../support/builders.js';
import { Lives } from '../../durable/reborn.js';
import { atOnce, okay, runThrough, Stage } from '../../stage.js';

const ALL = { queue: QUEUE, key: undefined, itemIds: [] } as const;

function withPolicy(policy: Partial<Policy>): Stage {
  return new Stage({ queues: { [QUEUE]: policy } });
}

function take(stage: Stage): number {
  const [delivery] = stage.acquire('worker').value.deliveries;
  assert.ok(delivery);
  return delivery.turn.token;
}

function kill(stage: Stage): void {
  stage.nack('worker', { token: take(stage), kind: 'dead_letter', error: 'bad' });
}

describe('the oldest that waits', () => {
  for (const itemId of ['old', undefined]) {
    it(`is one that was redriven, of an id of ${itemId === undefined ? 'ours' : 'a client'}`, () => {
      const stage = withPolicy({});
      stage.submit('p', [{ itemId }]);
      kill(stage);
      stage.pass(60_000);
      stage.submit('p', [{ key: 'other', itemId: 'young' }]);
      stage.pass(5_000);
      okay(atOnce(stage.core.redrive(ALL, 1_000, () => stage.now)));
      assert.equal(stage.queue()?.oldestWaiting, 65_000);
      stage.acquire('worker', { maxTurns: 1 });
      assert.equal(stage.queue()?.oldestWaiting, 65_000, 'the other one is taken: it was ready before');
      take(stage);
      assert.equal(stage.queue()?.oldestWaiting, undefined);
    });
  }
});

describe('a key that is READY', () => {
  it('waits for no worker while the sidecar drains', () => {
    const stage = withPolicy({});
    stage.submit('p', [{}]);
    stage.core.drain(stage.now);
    assert.match(stage.explain().why, /draining/);
  });

  it('behind a rate is told when its own turn comes, with the keys before it', () => {
    const stage = withPolicy({ rate: { perSecond: 1, burst: 1 } });
    stage.enQueue('first', { key: 'a' });
    for (const key of ['b', 'c', 'd']) stage.enQueue(key, { key, wait: 60_000 });
    const told = stage.explain(QUEUE, 'd');
    assert.match(told.why, /2 other keys are before it/);
    assert.equal(told.until, stage.wall + 3_000);
    stage.pass(2_999);
    assert.equal(stage.explain(QUEUE, 'd').state, 'READY');
    stage.pass(1);
    assert.equal(stage.explain(QUEUE, 'd').state, 'PROCESS');
  });
});

describe('until', () => {
  it('of a key under take_over is the take-over, where it comes before the end of the lease', () => {
    const stage = withPolicy({ onWaitTimeout: 'take_over', wait: 3_000, lease: 20_000 });
    stage.enQueue('holder');
    assert.equal(stage.explain().until, stage.wall + 20_000);
    stage.pass(1_000);
    stage.enQueue('waiter', { wait: 3_000 });
    const { until, why } = stage.explain();
    assert.equal(until, stage.wall + 3_000);
    assert.match(why, /take_over/);
    stage.pass(2_999);
    assert.equal(stage.explain().holder?.consumerId, 'holder');
    stage.pass(1);
    assert.equal(stage.explain().holder?.consumerId, 'waiter');
  });

  it('is not the end of a wait that is too short for a take-over', () => {
    const stage = withPolicy({ onWaitTimeout: 'take_over', wait: 3_000, lease: 20_000 });
    stage.enQueue('holder');
    stage.enQueue('waiter', { wait: 2_000 });
    assert.equal(stage.explain().until, stage.wall + 20_000);
  });
});

describe('a parked key', () => {
  const full = { maxDeadLetters: 1, onDeadLetter: 'park' } as const;

  /** `i` is refused for good, and there is no room for it: `x`, of another key, has it. */
  function withoutRoom(): Stage {
    const stage = withPolicy(full);
    stage.submit('p', [{ key: 'other', itemId: 'x' }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    stage.nack('worker', { key: 'other', token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
    stage.submit('p', [{ itemId: 'i' }]);
    kill(stage);
    return stage;
  }

  it('without room says how many are kept, and both steps out', () => {
    const { state, why } = withoutRoom().explain();
    assert.equal(state, 'PARK');
    assert.doesNotMatch(why, /out of attempts/);
    assert.match(why, /max_dead_letters allows \(1\).*dead-letters discard --queue q.*keyturn resume -- q k/);
  });

  for (const [what, restarts] of [
    ['', false],
    [', after a restart too', true],
  ] as const) {
    it(`without room for one that a dependency doomed says nothing of attempts${what}`, () => {
      const policy = { durable: true, maxDeadLetters: 1 };
      const lives = new Lives({ queues: { [QUEUE]: policy } });
      const after = [{ queue: QUEUE, itemId: 'x' }];
      lives.stage.submit('p', [{ key: 'other', itemId: 'x' }]);
      lives.stage.submit('p', [{ itemId: 'i', after }]);
      const [delivery] = lives.stage.acquire('worker').value.deliveries;
      lives.stage.nack('worker', { key: 'other', token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
      if (restarts) {
        lives.flush();
        lives.restart();
      }
      const { state, why, line, lastError } = lives.stage.explain();
      assert.deepEqual([state, line[0]?.id, line[0]?.attempts], ['PARK', 'i', 0]);
      assert.doesNotMatch(why, /attempts/);
      assert.match(why, /item i is to become a dead letter/);
      assert.match(lastError ?? '', /x of queue q.*became a dead letter/);
    });
  }

  it('says when there is room again', () => {
    const stage = withoutRoom();
    okay(atOnce(stage.core.discardDead({ ...ALL, itemIds: ['x'] }, 1_000, () => stage.now)));
    assert.match(stage.explain().why, /there is now: "keyturn resume -- q k"/);
  });

  it('says that what stopped it is discarded', () => {
    const stage = withoutRoom();
    const scan = okay(stage.core.discardWaiting({ ...ALL, itemIds: ['i'] }, 10, () => stage.now));
    if (scan !== undefined) runThrough(scan);
    assert.match(stage.explain().why, /item i .*it is discarded since; "keyturn resume -- q k"/);
  });

  it('says that its dead letter is none any more', () => {
    const stage = withPolicy({ onDeadLetter: 'park' });
    stage.submit('p', [{ itemId: 'i', key: "it's" }]);
    const token = take(stage);
    stage.nack('worker', { key: "it's", token, kind: 'dead_letter' });
    assert.match(stage.explain(QUEUE, "it's").why, /item i became a dead letter; "keyturn resume -- q 'it'\\''s'"/);
    okay(atOnce(stage.core.discardDead(ALL, 1_000, () => stage.now)));
    assert.match(stage.explain(QUEUE, "it's").why, /none any more/);
  });
});

describe('since', () => {
  it('of a key whose cause changes stays: it is in its state as long as before', () => {
    const stage = withPolicy({ minInterval: 5_000 });
    const began = stage.wall;
    const call = stage.enQueue('c');
    assert.ok(call.value.decision === 'accept');
    stage.deQueue('c', { holder: { token: call.value.turn.token } });
    stage.pass(1_000);
    stage.submit('p', [{ delay: 60_000 }]);
    stage.pass(10_000);
    const { state, since, why } = stage.explain();
    assert.deepEqual([state, since], ['DELAY', began]);
    assert.match(why, /delayed/);
  });

  it('of what was READY or in DELAY before a restart is not made up; the longest stays first', () => {
    const lives = new Lives({ queues: { [QUEUE]: { durable: true } } });
    lives.stage.submit('p', [{ itemId: 'z', key: 'z' }]);
    lives.stage.pass(1_000);
    lives.stage.submit('p', [{ itemId: 'a', key: 'a' }]);
    lives.stage.submit('p', [{ itemId: 'd', delay: 600_000 }]);
    lives.flush();
    lives.restart();
    const { stage } = lives;
    assert.deepEqual([stage.explain().state, stage.explain().since], ['DELAY', undefined]);
    const page = { queue: QUEUE, state: 'READY', pageSize: 10, pageToken: '' } as const;
    const scan = okay(stage.core.listKeys(page, 10));
    assert.ok(scan);
    assert.deepEqual(
      runThrough(scan).keys.map(({ key, since }) => [key, since]),
      [
        ['z', undefined],
        ['a', undefined],
      ],
    );
    stage.pass(600_000);
    assert.notEqual(stage.explain().since, undefined, 'what happened since the start is known');
  });
});

describe('who holds a key', () => {
  it('has it since the moment that the clocks of people showed, and its session is broken since another', () => {
    const stage = new Stage();
    const stream = okay(stage.open());
    stage.hello('c', stream, 's', 60_000);
    stage.on = stream;
    stage.enQueue('c');
    stage.on = undefined;
    const began = stage.wall;
    stage.pass(1_000);
    stage.core.closeStream(stream, stage.now);
    stage.enQueue('d', { wait: 60_000 });
    stage.pass(500);
    stage.submit('p', [{ itemId: 'i' }]);
    stage.pass(500);
    const { since, holder, line } = stage.explain();
    assert.deepEqual([since, holder?.since, holder?.session?.brokenSince], [began, began, began + 1_000]);
    assert.deepEqual(
      line.map((entry) => entry.since),
      [began + 1_000, began + 1_500],
    );
  });

  it('has it since its turn was handed over, if that was kept for its ticket', () => {
    const stage = new Stage();
    const first = stage.enQueue('a');
    assert.ok(first.value.decision === 'accept');
    stage.enQueue('b', { ticket: 't', wait: 0 });
    stage.deQueue('a', { holder: { token: first.value.turn.token } });
    stage.pass(2_000);
    const handedOver = stage.wall;
    stage.enQueue('b', { ticket: 't', wait: 0 });
    stage.pass(500);
    assert.equal(stage.explain().holder?.since, handedOver);
  });

  it('is told of without what was so of the one before in its place', () => {
    const stage = new Stage({ startupHold: 10_000 });
    stage.renew('c', 100);
    stage.ack('c', { token: 100 });
    stage.pass(10_000);
    stage.enQueue('next');
    assert.match(stage.explain().why, /^next holds it and has not renewed its lease$/);
  });

  it('has renewed since the start of the sidecar, after a restart', () => {
    const lives = new Lives();
    const call = lives.stage.enQueue('c');
    assert.ok(call.value.decision === 'accept');
    lives.stage.renew('c', call.value.turn.token);
    assert.match(lives.stage.explain().why, /^c holds it and has renewed its lease once$/);
    lives.flush();
    lives.restart();
    assert.match(lives.stage.explain().why, /has not renewed its lease since the sidecar started$/);
  });

  it('had it before the start, if it is adopted; that is an event', () => {
    const stage = new Stage({ startupHold: 60_000 });
    const events = eventsOf(stage, () => void stage.renew('c', 100));
    assert.deepEqual(events, ['turn adopted']);
    assert.match(stage.explain().why, /^a worker that had it before the sidecar started holds it/);
  });
});

/** The events of these steps: kind and detail. */
function eventsOf(stage: Stage, run: () => void): string[] {
  stage.core.watching = true;
  stage.events.length = 0;
  run();
  return stage.events.map(({ kind, detail }: CoordinatorEvent) => `${kind}${detail === undefined ? '' : ` ${detail}`}`);
}

describe('events', () => {
  const cases: Readonly<
    Record<
      string,
      { policy?: Partial<Policy>; before?: (stage: Stage) => unknown; run: (stage: Stage) => unknown; told: string[] }
    >
  > = {
    'a caller that is declined': {
      before: (stage) => [stage.enQueue('a'), stage.enQueue('b', { wait: 1_000 })],
      run: (stage) => stage.enQueue('c'),
      told: ['arrival decline waiter_exists'],
    },
    'an item that is declined': {
      policy: { minInterval: 5_000, whenTooSoon: 'decline' },
      before: (stage) => stage.enQueue('a'),
      run: (stage) => stage.submit('p', [{}]),
      told: ['arrival decline too_soon'],
    },
    'a caller that does not stay': {
      before: (stage) => stage.enQueue('a'),
      run: (stage) => stage.enQueue('c', { wait: 0 }),
      told: ['arrival block'],
    },
    'the end of a wait': {
      before: (stage) => [stage.enQueue('a'), stage.enQueue('b', { wait: 1_000 })],
      run: (stage) => stage.pass(1_000),
      told: ['leaving wait_ended'],
    },
    'a call that is cancelled': {
      before: (stage) => stage.enQueue('a'),
      run: (stage) => stage.enQueue('b', { wait: 1_000 }).cancel(),
      told: ['arrival block', 'leaving cancelled'],
    },
    'a ticket that ends': {
      policy: { ticketTtl: 1_000 },
      before: (stage) => [stage.enQueue('a'), stage.enQueue('b', { wait: 0, ticket: 't' })],
      run: (stage) => stage.pass(1_000),
      told: ['leaving ticket_ended'],
    },
    'a place that is given up': {
      before: (stage) => [stage.enQueue('a'), stage.enQueue('b', { wait: 0, ticket: 't' })],
      run: (stage) => stage.deQueue('b', { holder: { ticket: 't' } }),
      told: ['leaving given_up'],
    },
    'an item that is superseded': {
      policy: { waitingPerKey: 1, whenFull: 'replace' },
      before: (stage) => [stage.enQueue('a'), stage.submit('p', [{ itemId: 'i' }])],
      run: (stage) => stage.submit('p', [{ itemId: 'j' }]),
      told: ['leaving superseded', 'arrival accept'],
    },
    'a key that parks, and goes on': {
      policy: { onDeadLetter: 'park' },
      before: (stage) => stage.submit('p', [{}]),
      run: (stage) => [kill(stage), okay(stage.core.resumeKey(QUEUE, KEY, stage.now)), stage.pass(0), stage.explain()],
      told: ['turn', 'settlement nack', 'dead_letter refused', 'park dead_letter', 'resume'],
    },
    'redrive and discard': {
      before: (stage) => [
        stage.submit('p', [{ itemId: 'i' }]),
        kill(stage),
        stage.submit('p', [{ itemId: 'j' }]),
        kill(stage),
      ],
      run: (stage) => {
        okay(atOnce(stage.core.redrive({ ...ALL, itemIds: ['i'] }, 1_000, () => stage.now)));
        okay(atOnce(stage.core.discardDead(ALL, 1_000, () => stage.now)));
        const scan = okay(stage.core.discardWaiting(ALL, 10, () => stage.now));
        if (scan !== undefined) runThrough(scan);
        stage.explain();
      },
      told: ['redrive', 'discard dead letter', 'discard waiting'],
    },
    'what a person hurries': {
      before: (stage) => stage.submit('p', [{ delay: 60_000 }]),
      run: (stage) => [okay(stage.core.retryNow({ queue: QUEUE, what: { key: KEY } }, stage.now)), stage.explain()],
      told: ['retry_now delay'],
    },
  };
  for (const [what, { policy = {}, before = () => undefined, run, told }] of Object.entries(cases)) {
    it(`tell of ${what}`, () => {
      const stage = withPolicy(policy);
      before(stage);
      assert.deepEqual(
        eventsOf(stage, () => void run(stage)),
        told,
      );
    });
  }
});
