import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { traffic } from '../../src/cli/traffic.js';

const LINES = 10_000;

function column(seed: number, name: string): string[] {
  const [header = '', ...lines] = traffic(seed, LINES);
  const at = header.trimEnd().split('\t').indexOf(name);
  assert.notEqual(at, -1);
  return lines.map((line) => line.trimEnd().split('\t')[at] ?? '');
}

/** Share of lines that repeat an earlier value, the median distance of repeats, and the lines of the most frequent. */
function shape(values: readonly string[]): { repeats: number; median: number; busiest: number } {
  const last = new Map<string, number>();
  const counts = new Map<string, number>();
  const distances: number[] = [];
  values.forEach((value, at) => {
    const before = last.get(value);
    if (before !== undefined) distances.push(at - before);
    last.set(value, at);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  });
  distances.sort((a, b) => a - b);
  const median = distances[distances.length >> 1] ?? Number.NaN;
  return { repeats: distances.length / values.length, median, busiest: Math.max(...counts.values()) };
}

function within(value: number, low: number, high: number, what: string): void {
  assert.ok(value >= low && value <= high, `${what}: ${value} is not in ${low} to ${high}`);
}

describe('made-up traffic', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual([...traffic(7, 500)], [...traffic(7, 500)]);
    assert.notDeepEqual([...traffic(7, 500)], [...traffic(8, 500)]);
  });

  it('has a header line and as many lines as asked for, all with every column', () => {
    const lines = [...traffic(1, 300)];
    assert.equal(lines.length, 301);
    assert.equal(lines[0], 'time\tclient\tmethod\tpath\tstatus\tbytes\n');
    for (const line of lines) assert.match(line, /^(?:[^\t\n]+\t){5}[^\t\n]+\n$/);
  });

  it('may be empty', () => assert.equal([...traffic(1, 0)].length, 1));

  for (const seed of [1, 2, 3, 2015]) {
    it(`has the shape of a real log (seed ${seed})`, () => {
      const paths = shape(column(seed, 'path'));
      within(paths.repeats, 0.82, 0.88, 'lines that repeat a path');
      within(paths.median, 20, 60, 'median repeat distance of paths');
      within(paths.busiest, 500, 1_300, 'lines of the busiest path');
      const clients = shape(column(seed, 'client'));
      within(clients.repeats, 0.79, 0.85, 'lines that repeat a client');
      assert.equal(clients.median, 1, 'half of the repeats of a client are in the next line');
      within(clients.busiest, 100, 600, 'lines of the busiest client');
    });
  }
});
