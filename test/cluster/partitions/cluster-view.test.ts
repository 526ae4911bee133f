/** S302: in which state a partition is told to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterView, type HomeAnswer } from '../../../src/cluster/partitions/cluster-view.js';
import type { Ownership } from '../../../src/cluster/partitions/ownership.js';
import type { Guard } from '../../../src/cluster/store/cluster-store.js';

const ANSWERED: HomeAnswer = { queues: 2, why: undefined };
const SILENT: HomeAnswer = { queues: 1, why: 'it has not answered' };

function guard(partition: number, owner: string, member: string): Guard {
  return { partition, owner, member, epoch: 7, seq: 1, at: 1, floor: 1, format: 1 };
}

const member = (id: string, isLeaving = false) => ({
  id,
  name: 'host',
  address: `${id}:7423`,
  grpc: `${id}:7420`,
  version: '1',
  format: 1,
  weight: 1,
  isLeaving,
  routes: 1,
});

const CASES: readonly {
  readonly what: string;
  readonly guard: Guard;
  readonly answer: HomeAnswer;
  readonly own: Ownership['at'];
  readonly expected: readonly [state: string, member: string];
}[] = [
  {
    what: 'another one that answers',
    guard: guard(0, 'o', 'a'),
    answer: ANSWERED,
    own: 'free',
    expected: ['open', 'a'],
  },
  {
    what: 'another one that does not answer',
    guard: guard(0, 'o', 'a'),
    answer: SILENT,
    own: 'free',
    expected: ['unreachable', 'a'],
  },
  { what: 'one that is gone', guard: guard(0, 'o', 'gone'), answer: SILENT, own: 'free', expected: ['none', ''] },
  { what: 'nobody, after a hand-over', guard: guard(0, '', 'a'), answer: SILENT, own: 'free', expected: ['none', ''] },
  { what: 'this one', guard: guard(0, 'o', 'a'), answer: ANSWERED, own: 'open', expected: ['open', 'a'] },
  { what: 'this one, closed', guard: guard(0, 'o', 'a'), answer: SILENT, own: 'closed', expected: ['closed', 'a'] },
];

const PINS = new Map([[0, { name: 'north', address: 'n:1', at: 2 }]]);

const RECORD = {
  id: 'i',
  partitions: 8,
  secret: 's',
  version: 3,
  routes: {
    orders: { group: 'shop', spread: 1 },
    clicks: { group: 'clicks', spread: 2 },
    back: { group: 'back', spread: 1 },
  },
  rerouting: { queue: 'alone', group: 'shop', spread: 1, at: 4, acceptLoss: false },
};

test('S383: the view names queues that have a group or a spread, and the one that is being routed anew', () => {
  const names = { name: 'c', store: 's', registry: 'r', members: [], format: 1, guards: [], answers: [] };
  const view = clusterView({ ...names, pins: new Map(), record: RECORD, own: () => 'free' });
  assert.deepEqual(
    view.routes.map(({ queue, group, spread, partitions, isChanging }) => [
      queue,
      group,
      spread,
      partitions.length <= spread,
      isChanging,
    ]),
    [
      ['alone', 'alone', 1, true, true],
      ['clicks', 'clicks', 2, true, false],
      ['orders', 'shop', 1, true, false],
    ],
  );
  assert.equal(view.routesVersion, 3);
});

for (const { what, guard: found, answer, own, expected } of CASES) {
  test(`S302: the home is ${what}: ${expected[0]}`, () => {
    const names = { name: 'c', store: 's', registry: 'r', members: [member('a'), member('b', true)] };
    const view = clusterView({
      ...names,
      format: 1,
      guards: [found],
      answers: [answer],
      pins: PINS,
      record: RECORD,
      own: () => own,
    });
    const [home] = view.homes;
    assert.deepEqual([home?.state, home?.member], expected);
    assert.equal(home?.queues, answer.queues);
    assert.equal(home?.pinned, 'north at n:1');
    assert.deepEqual(view.unavailable, answer.why === undefined ? [] : [{ partition: 0, why: answer.why }]);
    assert.deepEqual(
      view.members.map(({ state, partitions }) => [state, partitions]),
      [
        ['live', expected[1] === 'a' ? 1 : 0],
        ['leaving', 0],
      ],
    );
  });
}
