/** At most 100 queues are shown by name; `other` is the sum of the rest, and its counters never go back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueueStats } from '../../src/coordinator.js';
import { type LabelledStats, QueueLabels } from '../../src/observability/queue-label.js';
import { runThrough } from '../core/stage.js';
import { accepted, histogram, Queues, queueStats, queueView } from './stats.js';

function queues(from: number, to: number, count = 1): QueueStats[] {
  return Array.from({ length: to - from }, (_, index) => accepted(`q${from + index}`, count));
}

class Labels extends QueueLabels {
  readonly queues = new Queues();
}

function shownBy(labels: Labels, stats: readonly QueueStats[]): readonly LabelledStats[] {
  const labelling = labels.begin();
  for (const queue of labels.queues.now(stats)) labelling.take(queue);
  return runThrough(labelling.end());
}

/** The ACCEPTs of a label. */
function acceptedOf(labels: Labels, stats: readonly QueueStats[], label: string): number | undefined {
  const found = shownBy(labels, stats).filter((labelled) => labelled.label === label);
  assert.ok(found.length <= 1, `${label} stands there twice`);
  return found[0]?.stats.decisions.reduce((sum, { count }) => sum + count, 0);
}

test('100 queues are shown by name and nothing as other', () => {
  const names = shownBy(new Labels(), queues(0, 100)).map(({ label }) => label);
  assert.deepEqual(
    names,
    queues(0, 100).map(({ view }) => view.name),
  );
});

test('what is beyond 100 is summed up', () => {
  const labels = new Labels();
  const shown = shownBy(labels, queues(0, 10_000, 2));
  assert.equal(shown.length, 101);
  assert.equal(acceptedOf(labels, queues(0, 10_000, 2), 'other'), 9_900 * 2);
});

test('a name stays as long as its queue exists, whatever order they are told in', () => {
  const labels = new Labels();
  shownBy(labels, queues(0, 150));
  const shown = shownBy(labels, queues(0, 150).reverse());
  assert.deepEqual(
    new Set(shown.map(({ label }) => label)),
    new Set([...queues(0, 100).map(({ view }) => view.name), 'other']),
  );
});

test('a new queue takes the name of one that is gone; one that began in other stays there', () => {
  const labels = new Labels();
  shownBy(labels, queues(0, 101));
  const later = [...queues(1, 101), accepted('fresh', 7)];
  assert.equal(acceptedOf(labels, later, 'fresh'), 7);
  assert.equal(acceptedOf(labels, later, 'q100'), undefined);
  assert.equal(acceptedOf(labels, later, 'other'), 1);
});

test('the counters of other do not go back when one of its queues is forgotten', () => {
  const labels = new Labels();
  const named = queues(0, 100);
  assert.equal(acceptedOf(labels, [...named, accepted('x', 5), accepted('y', 3)], 'other'), 8);
  assert.equal(acceptedOf(labels, [...named, accepted('y', 4)], 'other'), 9);
  assert.equal(acceptedOf(labels, named, 'other'), 9);
  assert.equal(acceptedOf(labels, [...named, accepted('x', 1)], 'other'), 10);
});

test('nor when it was forgotten and made anew between two scrapes', () => {
  const labels = new Labels();
  const named = queues(0, 100);
  assert.equal(acceptedOf(labels, [...named, accepted('x', 5)], 'other'), 5);
  labels.queues.forget('x');
  assert.equal(acceptedOf(labels, [...named, accepted('x', 2)], 'other'), 7);
});

test('nor though it counted as much again, or more, until the next scrape', () => {
  const labels = new Labels();
  const named = queues(0, 100);
  const renewed = (leasesRenewed: number) => ({ ...accepted('x', 5), leasesRenewed });
  shownBy(labels, [...named, renewed(7)]);
  labels.queues.forget('x');
  const shown = shownBy(labels, [...named, renewed(1)]);
  assert.equal(shown.at(-1)?.stats.leasesRenewed, 8);
  assert.equal(acceptedOf(labels, [...named, renewed(1)], 'other'), 10);
});

test('how a forgotten queue stood is forgotten with it', () => {
  const labels = new Labels();
  const named = queues(0, 100);
  const gone = queueStats('x', { view: queueView('x', { liveTurns: 3, oldestWaiting: 9 }), leasesRenewed: 4 });
  shownBy(labels, [...named, gone]);
  const other = shownBy(labels, named).find(({ label }) => label === 'other');
  assert.equal(other?.stats.view.liveTurns, 0);
  assert.equal(other?.stats.view.oldestWaiting, undefined);
  assert.equal(other?.stats.leasesRenewed, 4);
});

test('a queue that is called other is shown with the others', () => {
  const labels = new Labels();
  const shown = shownBy(labels, [accepted('other', 2), accepted('a', 1)]);
  assert.deepEqual(
    shown.map(({ label }) => label),
    ['a', 'other'],
  );
});

test('sums: counts and histograms are added, of ages the largest counts', () => {
  const labels = new Labels();
  const one = queueStats('x', {
    view: queueView('x', {
      states: { INIT: 1, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 2 },
      waitingItems: 1,
      oldestWaiting: 5,
      longestHold: 7,
    }),
    decisions: [{ decision: 'decline', reason: 'too_soon', count: 1 }],
    wait: histogram([1, 0, 0, 1], 3),
    rejected: { limit: 1 },
    retries: { nack: 1 },
  });
  const two = queueStats('y', {
    view: queueView('y', {
      states: { INIT: 1, PROCESS: 1, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 },
      waitingItems: 2,
      oldestWaiting: 9,
    }),
    decisions: [
      { decision: 'decline', reason: 'too_soon', count: 2 },
      { decision: 'decline', reason: 'superseded', count: 4 },
    ],
    wait: histogram([0, 2, 0, 1], 4),
    rejected: { limit: 2, draining: 3 },
  });
  const { stats } = shownBy(labels, [...queues(0, 100), one, two]).at(-1) ?? assert.fail();
  assert.deepEqual(stats.view.states, { INIT: 2, PROCESS: 1, BLOCK: 0, READY: 0, DELAY: 0, PARK: 2 });
  assert.deepEqual([stats.view.waitingItems, stats.view.oldestWaiting, stats.view.longestHold], [3, 9, 7]);
  assert.deepEqual(stats.decisions, [
    { decision: 'decline', reason: 'too_soon', count: 3 },
    { decision: 'decline', reason: 'superseded', count: 4 },
  ]);
  assert.deepEqual(stats.wait, histogram([1, 2, 0, 2], 7));
  assert.deepEqual(stats.rejected, { limit: 3, draining: 3 });
  assert.deepEqual(stats.retries, { nack: 1 });
});
