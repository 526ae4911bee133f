/** What a sidecar of a cluster tells of it: to whom calls went, and what became of partitions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Forwarded } from '../../../src/cli/serve/cluster/forwarded.js';
import { PartitionLog } from '../../../src/cli/serve/cluster/partition-log.js';
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
