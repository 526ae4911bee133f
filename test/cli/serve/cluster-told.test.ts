/** What a sidecar of a cluster tells of it: to whom calls went, and what became of partitions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failStore } from '../../../src/cli/serve/cluster/fail-store.js';
import { Forwarded } from '../../../src/cli/serve/cluster/forwarded.js';
import { PartitionLog } from '../../../src/cli/serve/cluster/partition-log.js';
import { TroubleLog } from '../../../src/cli/serve/cluster/trouble-log.js';
import { storeError } from '../../../src/cluster/store/partition/failures.js';
import { FakeClock } from '../../support/fake-clock.js';

const link = (incarnation: string, asked: number) => ({ incarnation, address: `${incarnation}:7423`, asked });

test('S300: calls are counted by the name of the member, by its address where no name is known, and never fewer', () => {
  const forwarded = new Forwarded();
  forwarded.linked('a1', 'alpha');
  assert.deepEqual(
    [...forwarded.counts([link('a1', 3), link('b1', 2)])],
    [
      ['alpha', 3],
      ['b1:7423', 2],
    ],
  );
  forwarded.released(link('a1', 3));
  assert.deepEqual([...forwarded.counts([])], [['alpha', 3]]);
  forwarded.linked('a2', 'alpha');
  assert.deepEqual([...forwarded.counts([link('a2', 4)])], [['alpha', 7]]);
});

test('S300: of members beyond 64 calls are counted as other', () => {
  const forwarded = new Forwarded();
  for (let one = 0; one < 100; one += 1) {
    forwarded.linked(`i${one}`, `m${one}`);
    forwarded.released(link(`i${one}`, 1));
  }
  const counts = forwarded.counts([link('last', 5)]);
  assert.equal(counts.size, 65);
  assert.equal(counts.get('other'), 36 + 5);
});

test('S301: what becomes of partitions is one line a second, with how many and which', () => {
  const clock = new FakeClock();
  const lines: [object, string][] = [];
  const log = new PartitionLog({ info: (fields, text) => void lines.push([fields, text]) }, clock);
  for (const partition of [7, 3, 3]) log.happened(partition, { kind: 'claimed', how: 'free' });
  log.happened(3, { kind: 'opened', noHomeFor: undefined });
  log.happened(1, { kind: 'succeeded' });
  assert.deepEqual(lines, []);
  clock.advance(1_000);
  assert.deepEqual(lines.splice(0), [
    [{ claimed: [3, 7], fenced: [1] }, 'partitions: 2 claimed, 1 taken by another sidecar'],
  ]);
  clock.advance(10_000);
  assert.deepEqual(lines, []);
  log.happened(3, { kind: 'handed_over' });
  log.happened(7, { kind: 'given_up' });
  log.flush();
  clock.advance(10_000);
  assert.deepEqual(lines, [[{ handed_over: [3], given_up: [7] }, 'partitions: 1 handed over, 1 given up']]);
});

test('S358: one cause that is the trouble of all partitions is one line, with which; its end is another one', () => {
  const clock = new FakeClock();
  const lines: [string, object][] = [];
  const log = new TroubleLog(
    {
      info: (fields, text) => void lines.push([`info: ${text}`, fields]),
      error: (fields, text) => void lines.push([`error: ${text}`, fields]),
    },
    clock,
  );
  const gone = (partition: number) => new Error(`there is no guard of partition ${partition} in redis://h:1 any more`);
  for (let partition = 63; partition >= 0; partition -= 1) log.began(gone(partition), partition);
  log.began(gone(5), 5);
  log.began(new Error('it is full'), 5);
  assert.deepEqual(lines, []);
  clock.advance(1_000);
  const all = Array.from({ length: 64 }, (_, partition) => partition);
  assert.deepEqual(lines.splice(0), [
    ['error: trouble with 64 partitions of the cluster', { partitions: all, reason: gone(63).message }],
    ['error: trouble with 1 partition of the cluster', { partitions: [5], reason: 'it is full' }],
  ]);
  log.began(gone(7), 7);
  clock.advance(10_000);
  assert.deepEqual(lines, [], 'each trouble once');
  for (const partition of all) log.ended(partition);
  log.ended(3);
  log.began(gone(9), 9);
  log.flush();
  clock.advance(10_000);
  assert.deepEqual(lines, [
    ['error: trouble with 1 partition of the cluster', { partitions: [9], reason: gone(9).message }],
    ['info: no more trouble with 63 partitions of the cluster', { partitions: all.filter((one) => one !== 9) }],
  ]);
});

test('S358: trouble with store or registry as a whole is told at once, and once', () => {
  const lines: string[] = [];
  const log = new TroubleLog(
    { info: (_, text) => void lines.push(text), error: (_, text) => void lines.push(text) },
    new FakeClock(),
  );
  for (const _ of [1, 2]) log.began(new Error('nothing listens there'), undefined);
  assert.equal(log.trouble, 'nothing listens there');
  for (const _ of [1, 2]) log.ended(undefined);
  assert.deepEqual(lines, ['trouble with the cluster', 'the cluster is reached again']);
});

test('S351: a store that is away fails in several ways in turn, and the log says another one only every 10 s', () => {
  const clock = new FakeClock();
  const lines: object[] = [];
  const log = new TroubleLog(
    { info: (_, text) => void lines.push({ text }), error: (fields) => void lines.push(fields) },
    clock,
  );
  const reasons = ['no answer within 500 ms', 'no answer within 1000 ms'];
  for (let tenths = 0; tenths < 200; tenths += 1) {
    log.began(new Error(reasons[tenths % 2]), undefined);
    assert.equal(log.trouble, reasons[tenths % 2]);
    clock.advance(100);
  }
  log.ended(undefined);
  log.began(new Error('it is full'), undefined);
  const [first, second] = reasons.map((reason) => ({ reason }));
  assert.deepEqual(lines, [first, second, { text: 'the cluster is reached again' }, { reason: 'it is full' }]);
});

test('a start that fails for the store says that it is to be started again: nothing goes on by itself', () => {
  assert.throws(() => failStore('store')(storeError('io', 'redis://h:1 cannot be reached: nothing listens there')), {
    message:
      'store: redis://h:1 cannot be reached: nothing listens there; look at the store and at the network to it; nothing was changed; start it again then',
  });
  assert.throws(() => failStore('registry')(storeError('full', 'redis://h:1 has reached its maxmemory')), {
    message: /take something else out of it; nothing was changed; start it again then$/,
  });
});
