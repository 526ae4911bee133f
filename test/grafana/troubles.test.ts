/** The two queries that judge a queue, on numbers made up for it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROMTOOL } from '../operating/prometheus-programs.js';
import { needs, pathOf } from '../support/needed-program.js';
import { dashboardsOnDisk } from './dashboard-file.js';
import { putIn } from './variables.js';

interface Standing {
  readonly oldestReady?: number;
  readonly parked?: number;
  readonly paused?: number;
}

/** A queue of two sidecars: how it stands in each, and what it is judged to be (`WELL` of overview.ts). */
const QUEUES: Readonly<Record<string, readonly [a: Standing, b: Standing, judged: number]>> = {
  fine: [{ oldestReady: 59 }, {}, 0],
  paused: [{ oldestReady: 400, paused: 1 }, { paused: 1 }, 1],
  'paused-in-one': [{ oldestReady: 400, paused: 1 }, { oldestReady: 5 }, 1],
  parked: [{}, { parked: 2 }, 2],
  'parked-and-paused': [{ parked: 1 }, { paused: 1 }, 3],
  late: [{ oldestReady: 61 }, {}, 4],
  'late-where-it-is-not-paused': [{ paused: 1 }, { oldestReady: 61 }, 5],
  'late-and-parked': [{ oldestReady: 61, parked: 1 }, {}, 6],
  everything: [{ oldestReady: 61, parked: 1 }, { paused: 1 }, 7],
  // Some of them are paused; the rest shall move.
  other: [{ oldestReady: 61, paused: 3 }, {}, 5],
};
const DO_NOT_MOVE = 5;

describe('the overview judges queues', needs([PROMTOOL]), () => {
  test('paused, parked and work that nobody takes are told apart, of each sidecar by itself', (t) => {
    const judged = Object.entries(QUEUES).map(([queue, [, , value]]) => ({ labels: `{queue="${queue}"}`, value }));
    check(t, [
      { expr: queryOf('Which queue does not move, and since when'), eval_time: '1m', exp_samples: judged },
      {
        expr: queryOf('Queues that do not move'),
        eval_time: '1m',
        exp_samples: [{ labels: '{}', value: DO_NOT_MOVE }],
      },
    ]);
  });
});

interface Cleanup {
  after(task: () => void): void;
}

function check(cleanup: Cleanup, expected: readonly object[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-dashboards-'));
  cleanup.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'test.yaml');
  const series = Object.entries(QUEUES).flatMap(([queue, [a, b]]) => [
    ...seriesOf(queue, 'a', a),
    ...seriesOf(queue, 'b', b),
  ]);
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ tests: [{ input_series: series, promql_expr_test: expected }] }));
  assert.match(execFileSync(pathOf(PROMTOOL), ['test', 'rules', file], { encoding: 'utf8' }), /SUCCESS/);
}

function seriesOf(queue: string, instance: string, { oldestReady = 0, parked = 0, paused = 0 }: Standing) {
  const labels = `job="keyturn", instance="${instance}", queue="${queue}"`;
  const one = (series: string, value: number) => ({ series, values: `${value}x2` });
  return [
    one(`keyturn_oldest_ready_seconds{${labels}}`, oldestReady),
    one(`keyturn_lanes{${labels}, state="PARK"}`, parked),
    one(`keyturn_lanes{${labels}, state="READY"}`, 1),
    one(`keyturn_queue_paused{${labels}}`, paused),
  ];
}

function queryOf(title: string): string {
  const [panel] = dashboardsOnDisk().flatMap(({ panels }) => panels.filter((one) => one.title === title));
  const values = { job: 'All', instance: 'All' } as const;
  return putIn(panel?.targets[0]?.expr ?? '', { values, rateInterval: '1m', range: '1m' });
}
