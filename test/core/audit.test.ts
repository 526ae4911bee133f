/** Whatever happens, in whatever order: what the core tells about itself stays consistent, and so do its limits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Policy } from '../../src/coordinator.js';
import { LANE_STATES } from '../../src/core/contract/model.js';
import type { Stream } from '../../src/core/core.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { auditCoordinator, auditCore } from '../support/audit.js';
import { ALL_QUEUES, enQueueRequest, newItem, QUEUE, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';
import { assertRandom } from '../support/random-property.js';
import { recount } from '../support/recount.js';
import { atOnce, okay, runThrough, Stage } from './stage.js';

const KEYS = ['', 'a', 'b', 'c'] as const;
const LIMITS = {
  idleLanes: 2,
  waitingCallers: 5,
  waitingAcquires: 2,
  busyLanes: 9,
  payloadMemoryBytes: 4_096,
  sessions: 3,
};

const policies: fc.Arbitrary<Partial<Policy>> = fc.record({
  waitingPerKey: fc.constantFrom<Policy['waitingPerKey']>(undefined, 1, 2, 'unlimited'),
  whenFull: fc.constantFrom('decline', 'replace'),
  onWaitTimeout: fc.constantFrom('block', 'take_over'),
  minInterval: fc.constantFrom(0, 0, 30),
  whenTooSoon: fc.constantFrom('wait', 'decline'),
  rate: fc.constantFrom(undefined, undefined, { perSecond: 20, burst: 2 }),
  maxInFlight: fc.constantFrom(undefined, undefined, 2),
  onDeadLetter: fc.constantFrom('skip', 'park'),
  delivery: fc.constantFrom('at_least_once', 'at_least_once', 'at_most_once'),
  idempotencyTtl: fc.constantFrom(0, 200),
  maxDeadLetters: fc.constantFrom(2, 100),
  maxWaiting: fc.constantFrom(6, 100),
  ticketTtl: fc.constant(50),
  wait: fc.constant(40),
  lease: fc.constant(100),
});

const OPS = [
  'enQueue',
  'place',
  'acquireKey',
  'dispatch',
  'submit',
  'waitForRoom',
  'deQueue',
  'ack',
  'nack',
  'release',
  'refuse',
  'renew',
  'undeliverable',
  'cancel',
  'evict',
  'resume',
  'pause',
  'unpause',
  'redrive',
  'discard',
  'open',
  'hello',
  'unary',
  'break',
  'late',
  'pass',
] as const;

interface Step {
  readonly op: (typeof OPS)[number];
  readonly key: (typeof KEYS)[number];
  readonly nth: number;
  readonly ms: number;
}

const steps: fc.Arbitrary<Step> = fc.record({
  op: fc.constantFrom(...OPS),
  key: fc.constantFrom(...KEYS),
  nth: fc.nat(6),
  ms: fc.constantFrom(0, 1, 20, 50, 100, 1_000),
});

/** People and workers who do one thing after the other and remember what they were given. */
class Play {
  readonly stage: Stage;
  readonly #calls: Call<unknown>[] = [];
  readonly #streams: Stream[] = [];
  #turns: { key: string; token: number }[] = [];

  constructor(policy: Partial<Policy>) {
    this.stage = new Stage({ queues: { [QUEUE]: policy }, limits: LIMITS });
  }

  step(step: Step): void {
    const { stage } = this;
    this.#act(step);
    recount(stage.core.inside, stage.now);
    if (step.op === 'late') return;
    stage.pass(0);
    recount(stage.core.inside, stage.now);
  }

  #act(step: Step): void {
    const { stage } = this;
    const { op, nth, ms } = step;
    const key = step.key === '' && !KEYLESS.has(op) ? 'a' : step.key;
    const turn = this.#turns[nth % Math.max(1, this.#turns.length)];
    const choice = { queue: QUEUE, key: nth > 2 ? undefined : key, itemIds: [] };
    const { core, now } = stage;
    switch (op) {
      case 'enQueue':
        return this.#enQueue(stage.enQueue('w', { key, wait: ms, idempotencyKey: nth > 3 ? `${nth}` : undefined }));
      case 'place':
        return this.#enQueue(stage.enQueue('w', { key, wait: ms, ticket: `t${nth % 2}` }));
      case 'acquireKey':
        return this.#acquire(stage.acquire('w', { key, wait: ms }));
      case 'dispatch':
        return this.#acquire(stage.acquire('w', { wait: ms, maxTurns: nth + 1, maxItemsPerTurn: 2, ...ticketOf(nth) }));
      case 'submit':
        return void stage.submit('s', [{ key, delay: ms, idempotencyKey: `${nth}` }, { key }]);
      case 'waitForRoom':
        return void this.#calls.push(stage.submit('s', [{ key }, { key: 'b' }, { key: 'c' }], QUEUE, ms));
      case 'open':
        return this.#open(nth);
      case 'hello':
        if (stage.on !== undefined) stage.hello('w', stage.on, `s${nth % 2}`, ms);
        return;
      case 'unary':
        stage.on = undefined;
        return;
      case 'break':
        return this.#break(nth);
      case 'late':
        stage.now += ms;
        return;
      case 'pass':
        return stage.pass(ms);
      case 'cancel':
        return this.#calls[nth % Math.max(1, this.#calls.length)]?.cancel(nth % 2 === 0);
      case 'evict':
        return stage.person(() => core.evictHolder(QUEUE, key, now), String);
      case 'resume':
        return stage.person(() => core.resumeKey(QUEUE, key, now), String);
      case 'pause':
        return stage.person(() => core.pauseQueue(QUEUE, now), String);
      case 'unpause':
        return stage.person(() => core.resumeQueue(QUEUE, now), String);
      case 'redrive':
        return stage.person(() => atOnce(core.redrive(choice, 1_000, () => now)), String);
      case 'discard':
        return this.#discard(choice);
      default:
        if (turn !== undefined) this.#settle(op, turn, ms);
    }
  }

  /** Or back to one that is open. */
  #open(nth: number): void {
    const opened = this.stage.open();
    if (opened.ok) this.#streams.push(opened.value);
    this.stage.on = opened.ok ? opened.value : this.#streams[nth % Math.max(1, this.#streams.length)];
  }

  #break(nth: number): void {
    const [stream] = this.#streams.splice(nth % Math.max(1, this.#streams.length), 1);
    if (stream !== undefined) this.stage.core.closeStream(stream, this.stage.now);
    if (stream === this.stage.on) this.stage.on = undefined;
  }

  breakAll(): void {
    while (this.#streams.length > 0) this.#break(0);
  }

  #settle(op: Step['op'], turn: { key: string; token: number }, delay: number): void {
    const { stage } = this;
    if (op === 'renew') return void stage.renew('w', turn.token, QUEUE, turn.key);
    this.#turns = this.#turns.filter((other) => other !== turn);
    if (op === 'deQueue') stage.deQueue('w', { key: turn.key, holder: turn });
    else if (op === 'ack') stage.ack('w', turn);
    else if (op === 'nack') stage.nack('w', { ...turn, delay });
    else if (op === 'release') stage.nack('w', { ...turn, kind: 'release' });
    else if (op === 'refuse') stage.nack('w', { ...turn, kind: 'dead_letter' });
    else
      stage.person((now) => ({ ok: true, value: stage.core.undeliverable([{ queue: QUEUE, ...turn }], now) }), String);
  }

  #discard(choice: Parameters<Stage['core']['discardWaiting']>[0]): void {
    const { stage } = this;
    const scan = stage.core.discardWaiting(choice, 2, () => stage.now);
    if (scan.ok && scan.value !== undefined) runThrough(scan.value);
    stage.carry();
    stage.person((now) => atOnce(stage.core.discardDead({ ...choice, itemIds: [] }, 1_000, () => now)), String);
  }

  #enQueue(call: ReturnType<Stage['enQueue']>): void {
    this.#calls.push(call);
    const { outcome } = call;
    if (outcome !== undefined && 'answer' in outcome && outcome.answer.decision === 'accept') {
      const { key, token } = outcome.answer.turn;
      this.#turns.push({ key, token });
    }
  }

  #acquire(call: ReturnType<Stage['acquire']>): void {
    this.#calls.push(call);
    const { outcome } = call;
    const deliveries = outcome !== undefined && 'answer' in outcome ? outcome.answer.deliveries : [];
    this.#turns.push(...deliveries.map(({ turn: { key, token } }) => ({ key, token })));
  }
}

/** Where an empty key may be given. */
const KEYLESS: ReadonlySet<string> = new Set<Step['op']>(['submit', 'waitForRoom', 'resume', 'redrive', 'discard']);

function ticketOf(nth: number): { ticket: string } | object {
  return nth % 3 === 0 ? { ticket: 'dispatch' } : {};
}

function withinLimits(stage: Stage): void {
  const [view] = stage.core.listQueues(ALL_QUEUES, stage.now).queues;
  assert.ok(view);
  const { INIT, ...busy } = view.states;
  assert.ok(INIT <= LIMITS.idleLanes, `${INIT} idle lanes`);
  assert.ok(stage.core.stats(stage.now).sessions <= LIMITS.sessions);
  assert.ok(view.waitingCallers <= LIMITS.waitingCallers);
  assert.ok(view.deadLetters <= view.policy.maxDeadLetters);
  assert.ok(view.liveTurns <= (view.policy.maxInFlight ?? Infinity) || view.policy.maxInFlight === undefined);
  // What comes back always finds room, so that redriven keys may be more than there are lanes for.
  assert.ok(
    Object.values(busy).reduce((sum, count) => sum + count, 0) <= LIMITS.busyLanes + view.policy.maxDeadLetters,
  );
}

const plays = fc.tuple(policies, fc.array(steps, { maxLength: 60, size: 'max' }));

describe('what the core tells about itself', () => {
  it('is consistent after every step', async (t) => {
    await assertRandom(
      t,
      plays,
      ([policy, todo]) => {
        const play = new Play(policy);
        for (const step of todo) {
          play.step(step);
          if (step.op === 'late') continue;
          auditCore(play.stage.core, play.stage.now);
          withinLimits(play.stage);
        }
      },
      { usual: 600, fewest: 600, seed: 20_260_101 },
    );
  });

  it('comes to nothing when everything was given time to end', async (t) => {
    await assertRandom(
      t,
      plays,
      ([policy, todo]) => {
        const play = new Play({ ...policy, delivery: 'at_least_once' });
        for (const step of todo) play.step(step);
        play.breakAll();
        windUp(play.stage);
        const [view] = play.stage.core.listQueues(ALL_QUEUES, play.stage.now).queues;
        assert.deepEqual(
          LANE_STATES.filter((state) => state !== 'INIT' && view?.states[state] !== 0),
          [],
        );
        const { waitingCalls, payloadBytes, sessions } = play.stage.core.stats(play.stage.now);
        assert.deepEqual([waitingCalls, payloadBytes, sessions], [0, 0, 0]);
        for (let n = 0; n < LIMITS.sessions; n++) {
          const stream = okay(play.stage.open());
          assert.ok(play.stage.hello('w', stream, `new ${n}`, 1_000).value, 'no session is remembered');
        }
      },
      { usual: 300, fewest: 300, seed: 20_260_101 },
    );
  });

  it('is the same through the port', async () => {
    const clock = new FakeClock();
    const coordinator = new LocalCoordinator(settings(), { clock, seed: 1 });
    for (const key of ['a', 'b', 'a', 'c', 'a']) coordinator.enQueue(enQueueRequest({ key, wait: 50 }), new Call());
    const items = ['a', '', '', 'd'].map((key) => newItem({ key }));
    coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, new Call());
    await auditCoordinator(coordinator);
    clock.advance(50);
    await auditCoordinator(coordinator);
  });
});

/** All waits and leases end, nothing is paused or parked, and what items are left are thrown away. */
function windUp(stage: Stage): void {
  stage.person((now) => stage.core.resumeQueue(QUEUE, now), String);
  for (const key of KEYS) stage.person((now) => stage.core.resumeKey(QUEUE, key, now), String);
  stage.pass(5_000);
  for (let round = 0; round < 3; round++) {
    const choice = { queue: QUEUE, key: undefined, itemIds: [] };
    const scan = stage.core.discardWaiting(choice, 100, () => stage.now);
    if (scan.ok && scan.value !== undefined) runThrough(scan.value);
    stage.person((now) => atOnce(stage.core.discardDead(choice, 1_000, () => now)), String);
    for (const key of KEYS) stage.person((now) => stage.core.resumeKey(QUEUE, key, now), String);
    stage.pass(5_000);
  }
}
