/** A replay in this process: the engine of the command, a client over loopback, and the embedded coordinator. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from '@keyturn/client';
import { READERS } from '../../../src/cli/replay/input.js';
import { readLines } from '../../../src/cli/replay/lines.js';
import type { ReplaySummary } from '../../../src/cli/replay/replay-summary.js';
import type { Format } from '../../../src/cli/replay/rows.js';
import { type Mode, type ReplayOutcome, runReplay } from '../../../src/cli/replay/run-replay.js';
import { traffic } from '../../../src/cli/traffic.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';

export const SUMMARY_FIELDS = [
  'lines',
  'accepted',
  'waited',
  'declined',
  'saved',
  'wait_p50_ms',
  'wait_p99_ms',
  'max_at_once',
  'order_violations',
  'class',
  'seconds',
];

export interface ReplayWords {
  readonly format: Format;
  readonly key: string;
  readonly mode: Mode;
  /** `session`: all calls on one stream. `unary`: each call by itself. */
  readonly transport: 'session' | 'unary';
  readonly queue?: string;
  /** Default: 8. */
  readonly workers?: number;
  /** ms, default: 0. */
  readonly work?: number;
  readonly stop?: AbortSignal;
}

export interface ReplayStage {
  readonly sidecar: Sidecar;
  replay(text: string, words: ReplayWords): Promise<ReplayOutcome>;
}

export async function replayStage(t: TestContext): Promise<ReplayStage> {
  const coordinator = localCoordinator(t, {
    queues: {
      everything: { waitingPerKey: 'unlimited' },
      newest: { waitingPerKey: 1, whenFull: 'replace' },
      brief: { lease: 2_000 },
      evicted: { lease: 3_000 },
    },
  });
  const sidecar = await startSidecar(t, coordinator);
  const replay = async (text: string, words: ReplayWords): Promise<ReplayOutcome> => {
    const { format, key, mode, transport, queue = 'replay', workers = 8, work = 0, stop } = words;
    const client = connect(sidecar.address, { transport });
    const bytes = Readable.from([Buffer.from(text)]);
    const options = { file: 'standard input', key, skipBad: 0, limit: undefined, warn: assert.fail };
    const lines = readLines(READERS[format], bytes, options);
    const source = { lines, close: () => void bytes.destroy() };
    try {
      const signal = stop ?? new AbortController().signal;
      return await runReplay(client, mode, { id: 'replay', queue, workers, work }, source, signal);
    } finally {
      await client.close();
    }
  };
  return { sidecar, replay };
}

/** No line is in the queue any more. */
export async function isIdle({ admin }: Sidecar['client'], queue: string): Promise<boolean> {
  const found = (await admin.listQueues()).queues.find(({ name }) => name === queue);
  return found === undefined || (found.liveTurns === 0 && found.waiting === 0);
}

/** Two of the lines are at work, and one waits. */
export async function isBusy({ admin }: Sidecar['client'], queue: string): Promise<boolean> {
  const found = (await admin.listQueues()).queues.find(({ name }) => name === queue);
  return found?.liveTurns === 2 && found.waiting === 1;
}

export function assertPromises(summary: ReplaySummary, lines: number): void {
  assert.deepEqual(Object.keys(summary), SUMMARY_FIELDS);
  assert.equal(summary.lines, lines);
  assert.equal(summary.accepted + summary.declined, lines);
  assert.equal(summary.max_at_once, 1);
  assert.equal(summary.order_violations, 0);
  assert.equal(summary.saved, Number((summary.declined / lines).toFixed(4)));
  assert.ok(summary.wait_p50_ms >= 0 && summary.wait_p50_ms <= summary.wait_p99_ms);
  assert.ok(summary.seconds > 0);
}

/** The class by its definition, from the whole history. */
export function classOf(keys: readonly string[], workers: number): string {
  const last = new Map<string, number>();
  const nearest = new Map<string, number>();
  keys.forEach((key, at) => {
    const before = last.get(key);
    if (before !== undefined) nearest.set(key, Math.min(nearest.get(key) ?? Infinity, at - before));
    last.set(key, at);
  });
  if (nearest.size === 0) return 'none';
  const near = keys.filter((key) => (nearest.get(key) ?? Infinity) < workers).length;
  return near * 2 >= keys.length ? 'high' : 'sparse';
}

export function column(tsv: string, name: string): string[] {
  const [header = '', ...lines] = tsv.trimEnd().split('\n');
  const at = header.split('\t').indexOf(name);
  return lines.map((line) => line.split('\t')[at] ?? '');
}

const SAMPLE = fileURLToPath(new URL('../../../../../shared/data/access-2015.tsv', import.meta.url));

/** The first lines of real traffic, where a file with real traffic is; else made up. TSV. */
export function someTraffic(lines: number): string {
  const all = existsSync(SAMPLE) ? readFileSync(SAMPLE, 'utf8') : [...traffic(2015, lines)].join('');
  return `${all
    .split('\n')
    .slice(0, 1 + lines)
    .join('\n')}\n`;
}
