/** A bound for each principal: none takes the time, or the places, of the others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Allowance } from '../../src/access/allowance.js';
import { Authenticator } from '../../src/access/authenticator.js';
import type { Principal } from '../../src/access/principal.js';
import type { AccessSettings, ClientBounds } from '../../src/access/settings.js';
import { hashOf, Tokens } from '../../src/access/tokens.js';
import type { HelloAnswer, Refusal } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { Stage } from '../contract/stage.js';
import { turnOf, Worker } from '../contract/worker.js';
import { Call } from '../support/call.js';
import { portOf } from './principals.js';

const UNBOUND: ClientBounds = {
  callsPerSecond: undefined,
  waiting: undefined,
  watches: undefined,
  turns: undefined,
  memoryBytes: undefined,
};

class Bounded extends Stage {
  constructor() {
    super((given, clock) => new LocalCoordinator(given, { clock, seed: 1 }));
  }

  allowance(bounds: Partial<ClientBounds>): Allowance {
    return new Allowance({ ...UNBOUND, ...bounds }, 'ada', () => this.clock.now());
  }

  /** Of one principal with these bounds. */
  of(bounds: Partial<ClientBounds>): Worker {
    return new Worker(portOf(this.coordinator, 'ada', this.allowance(bounds)).calls);
  }
}

function told(refusal: Refusal | undefined): readonly [subject: string, limit: number, retryAfter: number] | undefined {
  if (refusal === undefined) return undefined;
  assert.ok(refusal.kind === 'limit', `a limit, not ${refusal.kind}`);
  return [refusal.subject, refusal.limit, refusal.retryAfter];
}

const PACE = 'auth.per_client.calls_per_second';
const WAITING = 'auth.per_client.waiting';

describe('calls of one principal in a second', () => {
  test('as many as are allowed may come at once, then each when its time has come', () => {
    const stage = new Bounded();
    const allowance = stage.allowance({ callsPerSecond: 4 });
    for (let call = 0; call < 4; call += 1) assert.equal(allowance.asks(), undefined);
    assert.deepEqual(told(allowance.asks()), [PACE, 4, 250]);
    stage.advance(249);
    assert.deepEqual(told(allowance.asks()), [PACE, 4, 1]);
    stage.advance(1);
    assert.equal(allowance.asks(), undefined);
    assert.deepEqual(told(allowance.asks()), [PACE, 4, 250], 'what was refused took nothing, what was let in did');
    stage.advance(3_600_000);
    for (let call = 0; call < 4; call += 1) assert.equal(allowance.asks(), undefined);
    assert.notEqual(allowance.asks(), undefined, 'nothing is saved up over the calls of a second');
  });

  for (const callsPerSecond of [1, 3, 7, 999, 5_000])
    test(`${callsPerSecond} a second are ${callsPerSecond} a second, over many of them`, () => {
      const stage = new Bounded();
      const allowance = stage.allowance({ callsPerSecond });
      let taken = 0;
      for (let ms = 0; ms < 5_000; ms += 1) {
        for (let call = 0; call < 8; call += 1) if (allowance.asks() === undefined) taken += 1;
        stage.advance(1);
      }
      // Those that may come at once, and those of the 4,999 ms after the first moment.
      assert.ok(Math.abs(taken - callsPerSecond * 5.999) <= 1, `${taken} were taken`);
    });

  test('who asks too much can still give back and keep what it has, at a pace of its own', () => {
    const stage = new Bounded();
    const worker = stage.of({ callsPerSecond: 2 });
    const turns = [worker.hold({ key: 'a' }), worker.hold({ key: 'b' })];
    assert.deepEqual(told(worker.enQueue({ key: 'c' }).refusal), [PACE, 2, 500]);
    for (const turn of turns) assert.ok(worker.end(turn).value);
    const [turn] = turns;
    assert.ok(turn !== undefined);
    assert.deepEqual(told(worker.end(turn).refusal), [PACE, 2, 500]);
  });

  test('what is refused is not done', async () => {
    const stage = new Bounded();
    const worker = stage.of({ callsPerSecond: 1 });
    worker.items('first');
    assert.deepEqual(told(worker.items('second').refusal), [PACE, 1, 1_000]);
    assert.equal((await stage.queue()).waitingItems, 1);
  });

  test('count on all its sessions and calls together, and on those of nobody else', () => {
    const stage = new Bounded();
    const allowance = stage.allowance({ callsPerSecond: 3 });
    const port = portOf(stage.coordinator, 'ada', allowance);
    const open = port.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(open.ok);
    new Worker(open.value).hold({ key: 'a' });
    new Worker(port.calls).hold({ key: 'b' });
    new Worker(portOf(stage.coordinator, 'ada', allowance).calls).hold({ key: 'c' });
    assert.deepEqual(told(new Worker(open.value).enQueue({ key: 'd' }).refusal), [PACE, 3, 334]);
    new Worker(portOf(stage.coordinator, 'bob', stage.allowance({ callsPerSecond: 3 })).calls).hold({ key: 'd' });
  });

  test('that are wrong or change nothing count too, and each hello of a stream after its first', () => {
    const stage = new Bounded();
    const allowance = stage.allowance({ callsPerSecond: 2 });
    const opened = portOf(stage.coordinator, 'ada', allowance).openSession({
      notice: () => undefined,
      replaced: () => undefined,
    });
    assert.ok(opened.ok);
    const request = { consumerId: 'w', sessionId: 's', ttl: 1_000 };
    const greet = () => {
      const call = new Call<HelloAnswer>();
      opened.value.hello(request, call);
      return call;
    };
    assert.equal(greet().value.sessionId, 's');
    assert.equal(greet().refusal.kind, 'bad_request', 'a second one is wrong');
    assert.equal(opened.value.wasted?.(), undefined);
    assert.deepEqual(told(opened.value.wasted?.()), [PACE, 2, 500]);
    assert.deepEqual(told(greet().refusal), [PACE, 2, 500]);
  });

  test('of people count too', async () => {
    const stage = new Bounded();
    const { admin } = portOf(stage.coordinator, 'ada', stage.allowance({ callsPerSecond: 1 }));
    assert.ok((await admin.ask('listQueues', { nameContains: '', after: '', most: 1 })).ok);
    const asked = await admin.ask('pauseQueue', { queue: 'q' });
    assert.ok(!asked.ok);
    assert.deepEqual(told(asked.refusal), [PACE, 1, 1_000]);
  });
});

describe('calls of one principal that wait', () => {
  test('are no more than are allowed; what need not wait goes on', () => {
    const stage = new Bounded();
    stage.hold();
    const worker = stage.of({ waiting: 2 });
    const waiting = [worker.enQueue({ wait: 1_000 }), worker.acquire({ wait: 1_000 })];
    assert.deepEqual(told(worker.enQueue({ wait: 1_000 }).refusal), [WAITING, 2, 1_000]);
    assert.deepEqual(told(worker.acquire({ wait: 1 }).refusal), [WAITING, 2, 1_000]);
    assert.ok(waiting.every(({ open }) => open));
    worker.hold({ key: 'other', wait: 0 });
    assert.ok(worker.acquire({ wait: 0 }).value);
  });

  const ends: readonly (readonly [how: string, end: (stage: Bounded, first: ReturnType<Worker['enQueue']>) => void])[] =
    [
      ['is answered', (stage) => void stage.end(turnOf(stage.enQueue({ ticket: 'holder', wait: 0 })))],
      ['has waited long enough', (stage) => stage.advance(1_000)],
      ['is cancelled', (_, first) => first.cancel()],
      ['is cancelled, and cancelled again', (_, first) => [1, 2].forEach(() => void first.cancel())],
      [
        'is answered, and cancelled after that',
        (stage, first) => {
          stage.end(turnOf(stage.enQueue({ ticket: 'holder', wait: 0 })));
          first.cancel();
        },
      ],
    ];
  for (const [how, end] of ends)
    test(`one that ${how} makes room for one, not for two`, () => {
      const stage = new Bounded();
      stage.hold({ ticket: 'holder' });
      stage.hold({ key: 'l' });
      const worker = stage.of({ waiting: 1 });
      const first = worker.enQueue({ wait: 1_000 });
      assert.deepEqual(told(worker.enQueue({ key: 'l', wait: 60_000 }).refusal), [WAITING, 1, 1_000]);
      end(stage, first);
      assert.ok(worker.enQueue({ key: 'l', wait: 60_000 }).open);
      assert.deepEqual(told(worker.enQueue({ key: 'l', wait: 60_000 }).refusal), [WAITING, 1, 1_000]);
    });

  test('one that is answered at once takes no place', () => {
    const worker = new Bounded().of({ waiting: 1 });
    for (const key of ['a', 'b', 'c']) worker.hold({ key, wait: 1_000 });
  });

  test('what is done is settled though no more may wait: the next comes with it if it is there', () => {
    const stage = new Bounded();
    const worker = stage.of({ waiting: 1 });
    worker.items('first');
    const delivery = worker.take();
    assert.ok(worker.acquire({ wait: 60_000 }).open);
    const next = { queues: ['q'], key: undefined, consumerId: 'w', ticket: undefined, lease: undefined };
    const settled = worker.ack(delivery.turn, {
      next: { ...next, maxTurns: 1, maxItemsPerTurn: 1, wait: 60_000 },
    });
    assert.deepEqual(settled.value.next?.deliveries ?? [], []);
  });
});

describe('whose bound it is', () => {
  const settings: AccessSettings = {
    tokens: 'unused',
    certificates: [],
    jwt: undefined,
    unix: undefined,
    rights: new Map([
      ['ada', []],
      ['bob', []],
    ]),
    perClient: { ...UNBOUND, callsPerSecond: 1 },
  };

  function of(access: AccessSettings): (name: string) => Principal {
    const tokens = ['ada', 'bob', 'eve', 'mallory'].map((name) => ({ name, sha256: hashOf(name), until: undefined }));
    const authenticator = new Authenticator(access, { tokens: new Tokens(tokens), jwt: undefined });
    return (name) => {
      const shown = { authorization: [`Bearer ${name}`], sans: [], isUnix: false, isPrivate: true };
      const found = authenticator.identify(shown);
      assert.ok(!(found instanceof Promise) && found.ok);
      return found.value;
    };
  }

  test('every name of the rights has its own, over all its connections; all others share one', () => {
    const known = of(settings);
    assert.equal(known('ada').allowance, known('ada').allowance);
    assert.notEqual(known('ada').allowance, known('bob').allowance);
    assert.notEqual(known('ada').allowance, known('eve').allowance);
    assert.equal(known('eve').allowance, known('mallory').allowance, 'names that strangers make up take no memory');
  });

  test('without per_client there is none', () => {
    assert.equal(of({ ...settings, perClient: undefined })('ada').allowance, undefined);
  });
});
