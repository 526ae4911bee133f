/** I6: what is held across a pause is looked at again when the walk goes on. Here with a pause after each item. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Changed, ItemChoice, ListDeadLettersRequest } from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import type { Walk } from '../../src/core/core.js';
import { newItem, QUEUE } from '../support/builders.js';
import { atOnce, lettersOf, okay, runThrough, Stage } from './stage.js';

const RETRY = { ...BUILT_IN_POLICY.retry, jitter: 'none', maxAttempts: 2, initial: 1_000 } as const;

/** With a pause after each. */
type BeginWalk = (stage: Stage) => Walk;

/** Letters of a key whose line has more, of one that has no other, and without a key. */
function makeDeadLetter(stage: Stage): void {
  for (const [n, key] of ['y', 'gone', '', 'gone', 'y'].entries()) {
    stage.submit('submitter', [{ key, itemId: `dead${n}` }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.nack('worker', { key, token: delivery.turn.token, kind: 'dead_letter' });
  }
}

/** Two that were handed out, one of which can be no more than refused; lines of several; items with an id made here and with one of a client. */
class Scene {
  readonly stage = new Stage({
    queues: { [QUEUE]: { waitingPerKey: 3, whenFull: 'replace', retry: RETRY, ticketTtl: 500 } },
    // More of them cost more to set up than a scene takes.
    limits: { idleLanes: 100 },
  });
  readonly tokens = new Map<string, number>();
  readonly #scan: Generator<undefined, Changed> | undefined;
  gone: number | undefined;

  constructor(walk: BeginWalk) {
    const { stage } = this;
    makeDeadLetter(stage);
    for (const key of ['held', 'other']) {
      stage.submit('submitter', [{ key, itemId: `${key}1` }]);
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.ok(delivery);
      this.tokens.set(key, delivery.turn.token);
    }
    stage.enQueue('absent', { key: 'x', ticket: 't', wait: 0, lease: 400 });
    for (const id of ['x1', undefined, 'x2']) stage.submit('submitter', [{ key: 'x', itemId: id }]);
    stage.submit('submitter', [{}, { key: 'y', itemId: 'y1' }, { key: '', itemId: 'z1' }, { key: '' }]);
    stage.submit('submitter', [{ key: 'held', itemId: 'held2' }]);
    this.#scan = okay(walk(stage));
  }

  /** @returns whether there is more */
  slice(): boolean {
    const step = this.#scan?.next();
    this.stage.carry();
    // One that has ended tells nothing any more.
    if (step?.done === true && step.value !== undefined) this.gone = step.value.done;
    return step?.done === false;
  }

  token(key: string): number {
    return this.tokens.get(key) ?? 0;
  }
}

type Act = (scene: Scene) => void;

function takeAndAck({ stage }: Scene): void {
  for (const { turn } of stage.acquire('late', { maxTurns: 100, maxItemsPerTurn: 2 }).value.deliveries)
    stage.ack('late', { key: turn.key, token: turn.token });
}

const more = ['x', 'y', 'held', '', 'new'].map((key) => ({ key }));

const ACTS: Readonly<Record<string, Act>> = {
  'all that is ready is taken and acked': takeAndAck,
  'all that is ready is taken, acked, and more comes': (scene) => {
    takeAndAck(scene);
    scene.stage.submit('submitter', more);
  },
  'all that is ready is taken': ({ stage }) => void stage.acquire('late', { maxTurns: 100 }),
  'Ack with the next turn': ({ stage, ...scene }) => {
    const next = { queues: [QUEUE], consumerId: 'w', maxTurns: 9, maxItemsPerTurn: 9, wait: 0 };
    const key = undefined;
    const token = scene.tokens.get('held') ?? 0;
    stage.ack('worker', { key: 'held', token, next: { ...next, key, ticket: undefined, lease: undefined } });
  },
  'Ack with follow-ups': ({ stage, tokens }) => {
    const followUps = more.map((item) => ({ queue: QUEUE, item: newItem(item) }));
    stage.ack('worker', { key: 'held', token: tokens.get('held') ?? 0, followUps });
  },
  'a release': (scene) => void scene.stage.nack('worker', { key: 'held', token: scene.token('held'), kind: 'release' }),
  'a retry': (scene) => void scene.stage.nack('worker', { key: 'held', token: scene.token('held') }),
  'a dead letter': (scene) =>
    void scene.stage.nack('worker', { key: 'held', token: scene.token('held'), kind: 'dead_letter' }),
  'a dead letter that is redriven': (scene) => {
    const { stage } = scene;
    stage.nack('worker', { key: 'held', token: scene.token('held'), kind: 'dead_letter' });
    okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now)));
  },
  'an item of the walk dies, and is redriven': ({ stage }) => {
    for (const { turn } of stage.acquire('late', { maxTurns: 100 }).value.deliveries)
      stage.nack('late', { key: turn.key, token: turn.token, kind: 'dead_letter' });
    okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now)));
  },
  'newer ones take places': ({ stage }) => {
    for (const key of ['x', 'y', 'held']) stage.submit('submitter', [{ key }, { key }, { key }, { key }]);
  },
  'a caller takes a place': ({ stage }) => void stage.enQueue('caller', { key: 'y', wait: 5_000 }),
  'an item is sent again': ({ stage }) => void stage.submit('submitter', [{ key: 'x', itemId: 'x2' }]),
  'another Discard of all': ({ stage }) => {
    const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: undefined, itemIds: [] }, 9, () => stage.now));
    while (scan?.next().done === false);
  },
  'another Discard, and the same ids anew': ({ stage }) => {
    const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: 'x', itemIds: [] }, 9, () => stage.now));
    while (scan?.next().done === false);
    stage.submit('submitter', [{ key: 'x', itemId: 'x1' }, { key: 'x' }]);
  },
  'an eviction': ({ stage }) => {
    okay(stage.core.evictHolder(QUEUE, 'held', stage.now));
    okay(stage.core.evictHolder(QUEUE, 'x', stage.now));
  },
  'a place that is given up': ({ stage }) => void stage.deQueue('absent', { key: 'x', holder: { ticket: 't' } }),
  'leases that end': ({ stage }) => stage.pass(25_000),
  'leases that end, with the wheel late': ({ stage }) => {
    stage.now += 25_000;
  },
  'a pause of the queue, and its end': ({ stage }) => {
    okay(stage.core.pauseQueue(QUEUE, stage.now));
    okay(stage.core.resumeQueue(QUEUE, stage.now));
  },
  draining: ({ stage }) => stage.core.drain(stage.now),
};

/** How each item that was ever there ends: told exactly once. */
function ends(scene: Scene): void {
  const { stage } = scene;
  okay(stage.core.resumeKey(QUEUE, '', stage.now));
  const view = () => stage.queue();
  const waitingBefore = (view()?.waitingItems ?? 0) + (view()?.liveTurns ?? 0);
  assert.ok(waitingBefore >= 0, 'nothing is counted out twice');
  for (const [key, token] of scene.tokens) stage.ack('worker', { key, token });
  stage.pass(20_000);
  for (let round = 0; round < 20 && (view()?.waitingItems ?? 0) > 0; round++) {
    for (const { turn } of stage.acquire('last', { maxTurns: 100, maxItemsPerTurn: 100 }).value.deliveries)
      stage.ack('last', { key: turn.key, token: turn.token });
    stage.pass(30_000);
  }
  assert.equal(view()?.waitingItems, 0, 'each that waits is handed out in the end');
  assert.equal(view()?.waitingCallers, 0);
  assert.equal(view()?.liveTurns, 0);
  const { INIT: _, ...busy } = view()?.states ?? { INIT: 0 };
  assert.deepEqual(Object.values(busy), [0, 0, 0, 0, 0]);
}

function all(itemIds: readonly string[] = []): ItemChoice {
  return { queue: QUEUE, key: undefined, itemIds };
}

const WALKS: Readonly<Record<string, BeginWalk>> = {
  'Discard of all that waits': (stage) => stage.core.discardWaiting(all(), 1, () => stage.now),
  'Discard of some by their ids': (stage) =>
    stage.core.discardWaiting(all(['x1', 'y1', 'x2', 'held2', 'z1']), 1, () => stage.now),
  'Redrive of all': (stage) => stage.core.redrive(all(), 1, () => stage.now),
  'Redrive of some by their ids': (stage) => stage.core.redrive(all(['dead3', 'dead0', 'dead2']), 1, () => stage.now),
  'Discard of all dead letters': (stage) => stage.core.discardDead(all(), 1, () => stage.now),
};

describe('with a pause after each item', () => {
  for (const [walk, begin] of Object.entries(WALKS)) {
    for (const [what, act] of Object.entries(ACTS)) {
      it(`${walk}: ${what} in any of its pauses loses nothing and counts nothing twice`, () => {
        for (let pause = 0, more = true; more; pause++) {
          const scene = new Scene(begin);
          for (let at = 0; at < pause; at++) more = scene.slice();
          act(scene);
          while (scene.slice());
          if (what !== 'draining') ends(scene);
        }
      });
    }
  }

  it('Discard with `waiting`: an item that left meanwhile takes nobody else along', () => {
    const stage = new Stage();
    stage.submit('submitter', [{ key: 'own' }, { key: 'own' }]);
    stage.submit('submitter', [{ key: 'x', itemId: 'x1' }]);
    const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: undefined, itemIds: [] }, 1, () => stage.now));
    assert.ok(scan);
    scan.next();
    for (const { turn } of stage.acquire('worker', { maxTurns: 9 }).value.deliveries)
      stage.ack('worker', { key: turn.key, token: turn.token });
    stage.submit('submitter', [
      { key: 'x', itemId: 'x2' },
      { key: 'x', itemId: 'x3' },
    ]);
    let step = scan.next();
    while (step.done !== true) step = scan.next();
    stage.carry();
    const items = stage.acquire('worker', { maxItemsPerTurn: 9 }).value.deliveries.flatMap((one) => one.items);
    assert.deepEqual(
      items.map(({ itemId }) => itemId),
      ['x2', 'x3'],
      'S88: what came after the call stays',
    );
    assert.equal(stage.queue()?.waitingItems, 0);
  });

  it('Redrive: those of a key go back together and in order, whoever takes what is ready in a pause', () => {
    const stage = new Stage();
    const keys = ['a', 'b', 'a', '', 'b', 'a', ''];
    const died: string[] = [];
    for (const [n, key] of keys.entries()) stage.submit('p', [{ key, itemId: `${key}${n}` }]);
    for (let left = keys.length; left > 0; ) {
      for (const { turn, items } of stage.acquire('w', { maxTurns: 9 }).value.deliveries.toReversed()) {
        stage.nack('w', { key: turn.key, token: turn.token, kind: 'dead_letter' });
        died.push(items[0]?.itemId ?? '');
        left -= 1;
      }
    }
    assert.notDeepEqual(died, [...died].sort());
    stage.submit('p', [
      { key: 'a', itemId: 'a-later' },
      { key: 'b', itemId: 'b-later' },
    ]);
    stage.core.pauseQueue(QUEUE, stage.now);
    const scan = okay(stage.core.redrive(all(), 2, () => stage.now));
    assert.ok(scan);
    const done: string[] = [];
    for (let step = scan.next(); step.done !== true; step = scan.next()) {
      stage.core.resumeQueue(QUEUE, stage.now);
      stage.carry();
      for (const { turn, items } of stage.acquire('w', { maxTurns: 1, maxItemsPerTurn: 2 }).value.deliveries) {
        done.push(...items.map(({ itemId }) => itemId));
        stage.ack('w', { key: turn.key, token: turn.token });
      }
    }
    stage.carry();
    for (let more = true; more; ) {
      const { deliveries } = stage.acquire('w', { maxTurns: 9, maxItemsPerTurn: 9 }).value;
      for (const { turn, items } of deliveries) {
        done.push(...items.map(({ itemId }) => itemId));
        stage.ack('w', { key: turn.key, token: turn.token });
      }
      more = deliveries.length > 0;
    }
    assert.equal(done.length, keys.length + 2);
    const redriven = (key: string) => done.filter((id) => id.startsWith(key) && !id.endsWith('later'));
    assert.deepEqual(redriven('a'), ['a0', 'a2', 'a5']);
    assert.deepEqual(redriven('b'), ['b1', 'b4']);
  });

  it('a list of dead letters tells none that left in a pause, and misses none that stayed', () => {
    const stage = new Stage();
    for (let n = 0; n < 20; n++) stage.submit('p', [{ key: `k${n}`, itemId: `i${n}` }]);
    const { deliveries } = stage.acquire('w', { maxTurns: 20 }).value;
    for (const { turn } of deliveries.toReversed())
      stage.nack('w', { key: turn.key, token: turn.token, kind: 'dead_letter' });
    const told: string[] = [];
    let token: string | undefined = '';
    while (token !== undefined) {
      const request: ListDeadLettersRequest = { queue: QUEUE, key: undefined, pageSize: 3, pageToken: token };
      const scan = okay(stage.core.listDeadLetters(request, 1));
      assert.ok(scan);
      scan.next();
      if (token !== '') okay(atOnce(stage.core.discardDead(all([`i${told.length}`]), 9, () => stage.now)));
      const page = runThrough(scan);
      told.push(...page.deadLetters.map(({ item }) => item.itemId));
      token = page.nextPageToken === '' ? undefined : page.nextPageToken;
    }
    assert.deepEqual(told, [...new Set(told)]);
    const left = okay(
      lettersOf(stage.core.listDeadLetters({ queue: QUEUE, key: undefined, pageSize: 100, pageToken: '' }, 9)),
    );
    for (const { item } of left.deadLetters) assert.ok(told.includes(item.itemId), item.itemId);
  });

  it('what a slice tells does not wait for a disk that has nothing to do with it', () => {
    const queues = { [QUEUE]: {}, kept: { durable: true } };
    const stage = new Stage({ queues }, 5_000, { durable: true });
    stage.submit('submitter', [{ itemId: 'a' }, { itemId: 'b' }]);
    const ends = stage.awaitItem('someone', 'b', 60_000);
    const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: undefined, itemIds: [] }, 1, () => stage.now));
    assert.ok(scan);
    scan.next();
    stage.submit('submitter', [{}], 'kept');
    scan.next();
    assert.ok(!stage.core.hasHeld, 'it may be told at once');
    stage.carry();
    assert.equal(ends.value.state, 'discarded');
  });
});
