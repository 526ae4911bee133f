/** S13: answers that are known to have reached nobody, under every policy that changes what became of their turn. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer, AcquireAnswer, EnQueueAnswer, Policy, Turn } from '../../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { ackRequest, acquireRequest, enQueueRequest, newItem, QUEUE } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FakeClock } from '../../support/fake-clock.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { okay, Stage } from '../stage.js';

const TICKET_TTL = 10_000;
const { lease: LEASE } = BUILT_IN_POLICY;
const PAYLOAD = new Uint8Array(500);
const RESULT = new Uint8Array([7]);
const POLICIES: Readonly<Record<string, Partial<Policy>>> = {
  at_least_once: {},
  'at_least_once, one attempt': { retry: { maxAttempts: 1, initial: 1, factor: 1, max: 1, jitter: 'none' } },
  at_most_once: { delivery: 'at_most_once' },
  'at_most_once, idempotency_ttl': { delivery: 'at_most_once', idempotencyTtl: 60_000 },
  'at_most_once, waiting_per_key 1, replace': { delivery: 'at_most_once', waitingPerKey: 1, whenFull: 'replace' },
  'at_most_once, park': { delivery: 'at_most_once', onDeadLetter: 'park' },
  idempotency_ttl: { idempotencyTtl: 60_000 },
  max_in_flight: { maxInFlight: 1 },
};

function taken(stage: Stage, ticket?: string): Turn {
  const [delivery] = stage.acquire('worker', { maxItemsPerTurn: 2, ticket }).value.deliveries;
  assert.equal(delivery?.items.length, 2);
  return delivery.turn;
}

function twoItems(policy: Partial<Policy>): Stage {
  const stage = new Stage({ queues: { [QUEUE]: policy } });
  const item = (itemId: string) => ({ itemId, idempotencyKey: `b-${itemId}`, payload: PAYLOAD });
  stage.submit('submitter', [item('i')]);
  // `replace` lets one wait: the other one came back before.
  if (policy.waitingPerKey === 1) {
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.core.undeliverable([delivery.turn], stage.now);
  }
  stage.submit('submitter', [item('j')]);
  return stage;
}

describe('items that could not be delivered', () => {
  for (const [name, policy] of Object.entries(POLICIES)) {
    it(`${name}: they wait again, in order, at the same attempt, and weigh what they weighed`, () => {
      const stage = twoItems(policy);
      const before = stage.core.stats(stage.now).payloadBytes;
      assert.ok(before > 2 * PAYLOAD.length);
      const turn = taken(stage);
      stage.core.undeliverable([turn], stage.now);
      assert.equal(stage.core.stats(stage.now).payloadBytes, before);
      assert.deepEqual(
        ['i', 'j'].map((id) => stage.awaitItem('someone', id, 0).value),
        ['i', 'j'].map(() => ({ state: 'waiting', result: undefined, error: undefined, attempt: 0 })),
      );
      const [again] = stage.acquire('worker', { maxItemsPerTurn: 2 }).value.deliveries;
      assert.deepEqual(
        again?.items.map(({ itemId, attempt, payload }) => [itemId, attempt, payload.length]),
        [
          ['i', 1, PAYLOAD.length],
          ['j', 1, PAYLOAD.length],
        ],
      );
      assert.ok(again.turn.token > turn.token);
      stage.ack('worker', { token: again.turn.token });
      assert.equal(stage.core.stats(stage.now).payloadBytes, 0, 'they are charged once, and given back once');
      assert.deepEqual(
        ['i', 'j'].map((id) => stage.awaitItem('someone', id, 0).value.state),
        ['done', 'done'],
      );
    });

    it(`${name}: their repetition is accepted and comes after them; done, it is declined`, () => {
      const stage = twoItems(policy);
      stage.core.undeliverable([taken(stage)], stage.now);
      const repeated = () => stage.submit('submitter', [{ idempotencyKey: 'b-i', itemId: 'again' }]).value.results[0];
      assert.equal(repeated()?.decision, 'accept', 'nobody did it');
      const turn = taken(stage);
      stage.ack('worker', { token: turn.token });
      const [last] = stage.acquire('worker').value.deliveries;
      const forgets = policy.idempotencyTtl === undefined;
      assert.equal(last?.items[0]?.itemId, forgets ? 'again' : undefined);
      const next = stage.submit('submitter', [{ idempotencyKey: 'b-i', itemId: 'once more' }]).value.results[0];
      assert.equal(next?.decision, forgets ? 'accept' : 'decline');
    });

    it(`${name}: with a ticket they are held for it, and for no longer`, () => {
      const stage = twoItems(policy);
      const before = stage.core.stats(stage.now).payloadBytes;
      const turn = taken(stage, 't');
      stage.core.undeliverable([turn], stage.now);
      assert.equal(taken(stage, 't').token, turn.token);
      stage.core.undeliverable([turn], stage.now);
      stage.pass(TICKET_TTL - 1);
      assert.equal(stage.core.liveTurns, 1);
      stage.pass(1);
      assert.equal(stage.core.liveTurns, 0);
      assert.equal(stage.core.stats(stage.now).payloadBytes, before);
      assert.equal(stage.awaitItem('someone', 'i', 0).value.attempt, 0);
      taken(stage);
    });

    it(`${name}: evicted while they are held for a ticket they wait again`, () => {
      const stage = twoItems(policy);
      stage.core.undeliverable([taken(stage, 't')], stage.now);
      const evicted = okay(stage.core.evictHolder(QUEUE, 'k', stage.now));
      assert.equal(evicted.itemsReturned, 2);
      taken(stage);
    });

    it(`${name}: the sidecar stops while they are held for a ticket: they wait again`, () => {
      const stage = twoItems(policy);
      stage.core.undeliverable([taken(stage, 't')], stage.now);
      stage.core.drain(stage.now);
      assert.equal(stage.core.liveTurns, 0);
      assert.equal(stage.core.memoryItems, 2, 'it is told what is lost');
    });
  }

  it('at_most_once: what its ticket came for was handed out, whatever becomes of it', () => {
    const stage = twoItems({ delivery: 'at_most_once' });
    taken(stage, 't');
    taken(stage, 't');
    stage.pass(60_000);
    assert.equal(stage.awaitItem('someone', 'i', 0).value.state, 'done');
  });

  it('at_most_once: what came back is not among the finished ones, and drives none of them out', () => {
    const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once', maxRemembered: 2 } } });
    const hand = (itemId: string) => {
      stage.submit('submitter', [{ key: itemId, itemId }]);
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.equal(delivery?.items[0]?.itemId, itemId);
      return delivery.turn;
    };
    hand('x');
    const back = hand('i');
    stage.core.undeliverable([back], stage.now);
    stage.submit('submitter', [{ key: 'y', itemId: 'y' }]);
    // First ready, first served: `i` goes first, comes back once more, and waits behind `y`.
    const [again] = stage.acquire('worker').value.deliveries;
    assert.equal(again?.turn.key, 'i');
    stage.core.undeliverable([again.turn], stage.now);
    assert.equal(stage.acquire('worker').value.deliveries[0]?.turn.key, 'y');
    const states = ['x', 'i', 'y'].map((id) => stage.awaitItem('someone', id, 0).value.state);
    assert.deepEqual(states, ['done', 'waiting', 'done']);
  });

  it('at_most_once: what was done is forgotten by then, and stays done', () => {
    const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once', resultTtl: 100 } } });
    stage.submit('submitter', [{ itemId: 'i', payload: PAYLOAD }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.pass(100);
    stage.submit('submitter', [{ itemId: 'i', payload: PAYLOAD }]);
    const before = stage.core.stats(stage.now).payloadBytes;
    stage.core.undeliverable([delivery.turn], stage.now);
    assert.equal(stage.core.stats(stage.now).payloadBytes, before, 'its id is another one’s');
    assert.equal(stage.queue()?.waitingItems, 1);
  });

  for (const acked of [false, true])
    it(`at_most_once: its idempotency key was done by another meanwhile${acked ? ', with a result' : ''}: so is it`, () => {
      const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once', idempotencyTtl: 100 } } });
      const hand = (itemId: string) => {
        stage.submit('submitter', [{ key: '', itemId, idempotencyKey: 'b' }]);
        const [delivery] = stage.acquire('worker').value.deliveries;
        assert.equal(delivery?.items[0]?.itemId, itemId);
        return delivery.turn;
      };
      const first = hand('i');
      stage.pass(100);
      const { token } = hand('j');
      if (acked) stage.ack('worker', { key: '', token, result: RESULT });
      stage.core.undeliverable([first], stage.now);
      assert.deepEqual(stage.acquire('worker').value.deliveries, [], 'it would be done twice');
      assert.equal(stage.awaitItem('someone', 'i', 0).value.state, 'done');
    });

  /** The first `i` was forgotten while its turn lives; a second one was handed out, and was acked with a result. */
  function secondOfItsName() {
    const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once', resultTtl: 100 } } });
    const hand = (key: string) => {
      stage.submit('submitter', [{ key, itemId: 'i' }]);
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.equal(delivery?.turn.key, key);
      return delivery.turn;
    };
    const first = hand('first');
    stage.pass(100);
    const { token } = hand('second');
    stage.ack('worker', { key: 'second', token, result: RESULT });
    return { stage, first };
  }

  it('at_most_once: another with its id is done by then: that stays done, with its result', () => {
    const { stage, first } = secondOfItsName();
    stage.core.undeliverable([first], stage.now);
    const { state, result } = stage.awaitItem('someone', 'i', 0).value;
    assert.deepEqual({ state, result }, { state: 'done', result: RESULT });
    assert.equal(stage.queue()?.waitingItems, 0);
  });

  it('at_most_once: a result is not that of another item which has its id by then', () => {
    const { stage, first } = secondOfItsName();
    stage.ack('worker', { key: 'first', token: first.token, result: new Uint8Array([1]) });
    assert.deepEqual(stage.awaitItem('someone', 'i', 0).value.result, RESULT);
  });
});

describe('an Ack of at_most_once that comes late', () => {
  it('leaves the result of its idempotency key to another item that did it meanwhile', () => {
    const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once', idempotencyTtl: 100 } } });
    const hand = (itemId: string) => {
      stage.submit('submitter', [{ key: '', itemId, idempotencyKey: 'b' }]);
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.equal(delivery?.items[0]?.itemId, itemId);
      return delivery.turn.token;
    };
    const first = hand('i');
    stage.pass(100);
    stage.ack('worker', { key: '', token: hand('j'), result: RESULT });
    stage.ack('worker', { key: '', token: first, result: new Uint8Array([1]) });
    const answer = stage.enQueue('caller', { key: '', idempotencyKey: 'b' }).value;
    assert.ok(answer.decision === 'decline');
    assert.deepEqual([answer.reason, answer.result], ['already_done', RESULT]);
  });
});

describe('answers of the coordinator that reach nobody', () => {
  for (const key of ['n', undefined]) {
    it(`the next of an Ack, ${key === undefined ? 'of any key' : 'with a key'}: its key is free at once`, (t) => {
      const coordinator = localCoordinator(t, { clock: new FakeClock() });
      const first = new Call<EnQueueAnswer>();
      coordinator.enQueue(enQueueRequest({ key: 'held' }), first);
      assert.ok(first.value.decision === 'accept');
      const items = [newItem({ key: 'i', itemId: 'i' })];
      coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, new Call());
      const acked = new Call<AckAnswer>(false);
      const { token } = first.value.turn;
      coordinator.ack(ackRequest({ key: 'held', token, next: acquireRequest({ key }) }), acked);
      const [given] = acked.value.next?.deliveries ?? [];
      assert.ok(given, 'a turn was given');
      const live = () => coordinator.stats().queues.map(({ view }) => view.liveTurns);
      assert.deepEqual(live(), [0]);
      const again = new Call<AcquireAnswer>();
      coordinator.acquire(acquireRequest({ key }), again);
      const [next] = again.value.deliveries;
      assert.equal(next?.turn.key, given.turn.key);
      assert.ok(next.turn.token > given.turn.token);
      assert.deepEqual(live(), [1]);
    });
  }

  /** A turn was acked with a follow-up to its own key; its answer may have been lost. */
  function ackedWithFollowUp() {
    const stage = new Stage({ queues: { [QUEUE]: {} } });
    stage.submit('submitter', [{ itemId: 'i' }]);
    const { token } = taken1(stage);
    const ack = () => stage.ack('worker', { token, followUps: [{ queue: QUEUE, item: newItem({ itemId: 'after' }) }] });
    return { stage, first: ack().value, ack };
  }

  function taken1(stage: Stage, ticket?: string): Turn {
    const [delivery] = stage.acquire('worker', { ticket }).value.deliveries;
    assert.ok(delivery);
    return delivery.turn;
  }

  function ackWithFollowUps(stage: Stage, { token }: Turn, ...ids: readonly string[]): AckAnswer {
    const followUps = ids.map((itemId) => ({ queue: QUEUE, item: newItem({ key: 'elsewhere', itemId }) }));
    return stage.ack('worker', { token, followUps }).value;
  }

  /** How the turn behind it ends, and whether the Ack may still be repeated. */
  const BEHIND: readonly (readonly [string, boolean, (stage: Stage) => void])[] = [
    ['reached nobody', true, (stage) => stage.core.undeliverable([taken1(stage)], stage.now)],
    [
      'reached nobody, nor did those behind it',
      true,
      (stage) => {
        for (let times = 0; times < 7; times++) stage.core.undeliverable([taken1(stage)], stage.now);
      },
    ],
    [
      'reached nobody, waited for its ticket, and ended',
      true,
      (stage) => {
        stage.core.undeliverable([taken1(stage, 't')], stage.now);
        stage.pass(TICKET_TTL);
      },
    ],
    [
      'reached nobody, waited for its ticket, and was evicted',
      true,
      (stage) => {
        stage.core.undeliverable([taken1(stage, 't')], stage.now);
        okay(stage.core.evictHolder(QUEUE, 'k', stage.now));
      },
    ],
    ['was given back', true, (stage) => void stage.nack('worker', { token: taken1(stage).token, kind: 'release' })],
    ['failed', true, (stage) => void stage.nack('worker', { token: taken1(stage).token, kind: 'dead_letter' })],
    ['was acked', true, (stage) => void stage.ack('worker', { token: taken1(stage).token })],
    [
      'ended with its lease',
      true,
      (stage) => {
        const { token } = taken1(stage);
        stage.pass(LEASE);
        assert.equal(stage.ack('worker', { token }).refusal.kind, 'turn_lost');
      },
    ],
    [
      'was evicted',
      true,
      (stage) => {
        taken1(stage);
        okay(stage.core.evictHolder(QUEUE, 'k', stage.now));
      },
    ],
    ['was acked, and six callers had the key', true, (stage) => ackedAndCallers(stage, 6)],
    ['was acked, and seven callers had the key: eight are remembered', false, (stage) => ackedAndCallers(stage, 7)],
    [
      'was acked with follow-ups: what these became is kept in its place',
      true,
      (stage) => {
        const behind = taken1(stage);
        const answer = ackWithFollowUps(stage, behind, 'later');
        assert.deepEqual(ackWithFollowUps(stage, behind, 'later'), answer);
      },
    ],
    [
      'reached nobody, and the one behind it was acked',
      true,
      (stage) => {
        stage.core.undeliverable([taken1(stage)], stage.now);
        stage.ack('worker', { token: taken1(stage).token });
      },
    ],
    [
      'reached nobody, eight times: only so many are remembered',
      false,
      (stage) => {
        for (let times = 0; times < 8; times++) stage.core.undeliverable([taken1(stage)], stage.now);
      },
    ],
  ];

  function ackedAndCallers(stage: Stage, callers: number): void {
    stage.ack('worker', { token: taken1(stage).token });
    for (let times = 0; times < callers; times++) {
      const answer = stage.enQueue('caller').value;
      assert.ok(answer.decision === 'accept');
      stage.deQueue('caller', { holder: { token: answer.turn.token } });
    }
  }

  for (const [what, repeatable, behind] of BEHIND)
    it(`S18: the turn behind an Ack with follow-ups ${what}: a repeated Ack ${repeatable ? 'has its answer' : 'lost its turn'}`, () => {
      const { stage, first, ack } = ackedWithFollowUp();
      behind(stage);
      if (repeatable) assert.deepEqual(ack().value, first);
      else assert.equal(ack().refusal.kind, 'turn_lost');
    });

  it('of two turns in one answer both are free at once', (t) => {
    const coordinator = localCoordinator(t, { clock: new FakeClock() });
    const items = ['a', 'b'].map((key) => newItem({ key, itemId: key }));
    coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, new Call());
    coordinator.acquire(acquireRequest({ maxTurns: 2 }), new Call<AcquireAnswer>(false));
    const again = new Call<AcquireAnswer>();
    coordinator.acquire(acquireRequest({ maxTurns: 2 }), again);
    assert.deepEqual(
      again.value.deliveries.map(({ turn }) => turn.key),
      ['a', 'b'],
    );
  });
});

describe('answers that came too late, because another home of the cluster was first', () => {
  it('their turns end, ticket or not, and their items wait again without an attempt, those of at_most_once too', () => {
    for (const delivery of ['at_least_once', 'at_most_once'] as const) {
      for (const ticket of ['t', undefined]) {
        const stage = twoItems({ delivery });
        stage.core.undeliverable([taken(stage, ticket)], stage.now, true);
        const [again] = stage.acquire('other', { maxItemsPerTurn: 2 }).value.deliveries;
        assert.deepEqual([again?.items.length, again?.turn.attempt], [2, 1], `${delivery}, ticket ${ticket}`);
      }
    }
  });

  it('a turn that its worker knows by its ticket stays', () => {
    const stage = twoItems({});
    const turn = taken(stage, 't');
    assert.equal(taken(stage, 't').token, turn.token);
    stage.core.undeliverable([turn], stage.now, true);
    assert.deepEqual(stage.acquire('other').value.deliveries, []);
  });
});

describe('S579: a turn that several answers gave', () => {
  const given = (): { readonly stage: Stage; readonly turn: Turn } => {
    const stage = twoItems({});
    const turn = taken(stage, 't');
    assert.equal(taken(stage, 't').token, turn.token);
    return { stage, turn };
  };
  const states = (stage: Stage) => ['i', 'j'].map((id) => stage.awaitItem('someone', id, 0).value.state);

  it('lives on when one of them is lost: the worker may have it by the other one', () => {
    const { stage, turn } = given();
    for (const unwanted of [false, true]) {
      assert.equal(taken(stage, 't').token, turn.token);
      stage.core.undeliverable([turn], stage.now, unwanted);
    }
    stage.pass(TICKET_TTL);
    assert.deepEqual(states(stage), ['in_flight', 'in_flight']);
  });

  it('is held for its ticket when all of them are lost, or ends if nobody wants it', () => {
    for (const unwanted of [false, true]) {
      const { stage, turn } = given();
      stage.core.undeliverable([turn], stage.now, unwanted);
      stage.core.undeliverable([turn], stage.now, unwanted);
      assert.equal(stage.explain().holder?.heldForTicket, unwanted ? undefined : 't');
      if (!unwanted) stage.pass(TICKET_TTL);
      assert.deepEqual(states(stage), ['waiting', 'waiting']);
    }
  });

  it('counts anew when its ticket comes for it after all', () => {
    const { stage, turn } = given();
    stage.core.undeliverable([turn, turn], stage.now);
    assert.equal(taken(stage, 't').token, turn.token);
    stage.core.undeliverable([turn], stage.now);
    stage.pass(TICKET_TTL);
    assert.deepEqual(states(stage), ['waiting', 'waiting']);
  });
});
