import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeyPage, KeyView, LaneState } from '../../../../src/coordinator.js';
import { QUEUE } from '../../../support/builders.js';
import { lettersOf, okay, runThrough, Stage } from '../../stage.js';

const SLICE = 5;

function page(stage: Stage, pageSize: number, pageToken: string, state?: LaneState): KeyPage {
  const scan = okay(stage.core.listKeys({ queue: QUEUE, state, pageSize, pageToken }, SLICE));
  assert.ok(scan);
  return runThrough(scan);
}

/** All pages. `between` runs after each. */
function listAll(stage: Stage, pageSize: number, state?: LaneState, between: () => void = () => {}): KeyView[] {
  const keys: KeyView[] = [];
  let token = '';
  do {
    const next = page(stage, pageSize, token, state);
    assert.ok(next.keys.length <= pageSize);
    keys.push(...next.keys);
    token = next.nextPageToken;
    between();
  } while (token !== '');
  return keys;
}

function names(keys: readonly KeyView[]): string[] {
  return keys.map(({ key }) => key);
}

/** 30 keys that are held, ten in each ms, in an order that is not that of their names. */
function held(): Stage {
  const stage = new Stage();
  for (let i = 0; i < 30; i++) {
    if (i % 10 === 0) stage.now += 1;
    stage.enQueue(`worker ${i}`, { key: `k${(i * 7) % 30}`.padStart(3, '0') });
  }
  return stage;
}

describe('a list of keys', () => {
  for (const pageSize of [1, 3, 7, 30, 31, 1_000]) {
    it(`in pages of ${pageSize} is complete, without repeats, longest in their state first`, () => {
      const stage = held();
      const keys = listAll(stage, pageSize);
      assert.equal(new Set(names(keys)).size, 30);
      const order = keys.map(({ since = 0, key }) => [since, key] as const);
      const sorted = order.toSorted(([a, ka], [b, kb]) => a - b || (ka < kb ? -1 : 1));
      assert.deepEqual(order, sorted);
    });
  }

  it('says who holds a key, how many wait and since when', () => {
    const stage = new Stage();
    stage.enQueue('alice');
    stage.now += 5;
    stage.enQueue('bob', { wait: 1_000 });
    const [view] = listAll(stage, 10);
    const since = view?.since;
    const place = '5000:0:k';
    assert.deepEqual(view, { key: 'k', state: 'BLOCK', since, waiting: 1, consumerId: 'alice', place });
    assert.equal(since, stage.explain().since);
  });

  it('is of one state, or of any but INIT', () => {
    const stage = new Stage();
    const { value } = stage.enQueue('worker', { key: 'idle' });
    assert.ok(value.decision === 'accept');
    stage.deQueue('worker', { key: 'idle', holder: { token: value.turn.token } });
    stage.enQueue('worker', { key: 'held' });
    stage.submit('submitter', [{ key: 'ready' }]);
    stage.submit('submitter', [{ key: 'delayed', delay: 1_000 }]);
    const listed = (state?: LaneState) => names(listAll(stage, 2, state)).sort();
    assert.deepEqual(listed(), ['delayed', 'held', 'ready']);
    const states = (['INIT', 'PROCESS', 'BLOCK', 'READY', 'DELAY', 'PARK'] as const).map(listed);
    assert.deepEqual(states, [['idle'], ['held'], [], ['ready'], ['delayed'], []]);
  });

  it('while keys come and go between pages misses none that stayed as it was, and tells none twice', () => {
    const stage = held();
    let more = 0;
    const between = () => {
      stage.now += 1;
      more += 1;
      stage.enQueue('newcomer', { key: `new ${more}`, lease: 1_000_000 });
      const gone = stage.enQueue('passer-by', { key: `passing ${more}` }).value;
      assert.ok(gone.decision === 'accept');
      stage.deQueue('passer-by', { key: `passing ${more}`, holder: { token: gone.turn.token } });
    };
    const told = names(listAll(stage, 4, undefined, () => more < 20 && between()));
    assert.equal(new Set(told).size, told.length);
    assert.deepEqual(told.filter((key) => /^\w\d+$|^0/.test(key)).length, 30);
  });

  it('tells a key that changed within a scan as it is, and nothing that it is not', () => {
    const stage = held();
    const scan = okay(stage.core.listKeys({ queue: QUEUE, state: 'PROCESS', pageSize: 100, pageToken: '' }, SLICE));
    assert.ok(scan);
    scan.next();
    // Of the first slice: it was PROCESS when it was looked at.
    stage.enQueue('waiter', { key: names(listAll(stage, 1))[0] ?? '', wait: 1_000 });
    const { keys } = runThrough(scan);
    assert.ok(keys.every(({ state }) => state === 'PROCESS'));
  });

  for (const pageSize of [1, 3, 100]) {
    it(`tells each keyless item, in pages of ${pageSize} too, though they share key and moment`, () => {
      const stage = new Stage();
      stage.submit(
        'submitter',
        Array.from({ length: 10 }, () => ({ key: '' })),
      );
      stage.submit('submitter', [{ key: 'k' }]);
      // Some are in flight, one failed and waits for its next try.
      const { deliveries } = stage.acquire('worker', { maxTurns: 4 }).value;
      stage.nack('worker', { key: '', token: deliveries[0]?.turn.token ?? 0, delay: 5_000 });
      const keys = listAll(stage, pageSize);
      const states = keys.map(({ state }) => state);
      const count = (wanted: LaneState) => states.filter((state) => state === wanted).length;
      assert.deepEqual([count('PROCESS'), count('DELAY'), count('READY')], [3, 1, 7]);
    });
  }

  it('tells each keyless item once, wherever it was when the walk came by: waiting, in flight, back again', () => {
    const stage = new Stage();
    const count = SLICE * 6;
    stage.submit(
      'submitter',
      [...Array(count).keys()].map((i) => ({ key: '', itemId: `i${i}` })),
    );
    const taken = stage.acquire('worker', { maxTurns: count / 2 }).value.deliveries.map(({ turn }) => turn.token);
    const scan = okay(stage.core.listKeys({ queue: QUEUE, state: undefined, pageSize: 100, pageToken: '' }, SLICE));
    assert.ok(scan);
    let step = scan.next();
    for (; step.done !== true; step = scan.next()) {
      // One comes back and one goes out in each pause.
      stage.nack('worker', { key: '', token: taken.shift() ?? 0, kind: 'release' });
      taken.push(...stage.acquire('worker').value.deliveries.map(({ turn }) => turn.token));
    }
    assert.equal(step.value.keys.length, count);
  });

  it('tells nothing of since when idle keys are idle, and lists them by name', () => {
    const stage = new Stage();
    for (const key of ['b', 'c', 'a']) {
      stage.now += 1;
      const { value } = stage.enQueue('worker', { key });
      assert.ok(value.decision === 'accept');
      stage.deQueue('worker', { key, holder: { token: value.turn.token } });
    }
    const idle = listAll(stage, 2, 'INIT');
    assert.deepEqual(names(idle), ['a', 'b', 'c']);
    assert.ok(idle.every(({ since }) => since === undefined));
  });

  it('a page token that is none of ours is a bad request', () => {
    const stage = held();
    for (const pageToken of ['x', '1', ':', 'NaN:k', '-1:k', '1e:k']) {
      const result = stage.core.listKeys({ queue: QUEUE, state: undefined, pageSize: 1, pageToken }, SLICE);
      assert.equal(result.ok ? 'taken' : result.refusal.kind, 'bad_request', pageToken);
    }
  });
});

describe('a list of dead letters', () => {
  it('in pages is complete, without repeats, in order of submission', () => {
    const stage = new Stage();
    const ids = Array.from({ length: 25 }, (_, i) => `i${(i * 7) % 25}`);
    stage.submit(
      'submitter',
      ids.map((itemId) => ({ key: itemId, itemId })),
    );
    for (const { turn } of stage.acquire('worker', { maxTurns: 25 }).value.deliveries)
      stage.nack('worker', { key: turn.key, token: turn.token, kind: 'dead_letter' });
    const told: string[] = [];
    let pageToken = '';
    do {
      const request = { queue: QUEUE, key: undefined, pageSize: 4, pageToken };
      const next = okay(lettersOf(stage.core.listDeadLetters(request, 1_000)));
      told.push(...next.deadLetters.map(({ item }) => item.itemId));
      pageToken = next.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(told, ids);
  });
});
