/** What the processes of a measured run report, a line of JSON each, and the table that is made of it. */

/** Environment variables; not ours by name, because tests take those away from the processes that they start. */
export const LOG = 'TEST_TIMES_LOG';
export const OF_FILE = 'TEST_TIMES_FILE';

export interface Report {
  /** The compiled test file, absolute. */
  readonly file: string;
  readonly processes: number;
  /** Seconds, of the process of the test file alone. */
  readonly wall?: number;
  /** Seconds of processor time of the process of the test file. */
  readonly own?: number;
  /** The same of all that it started. */
  readonly below?: number;
  readonly assertions?: number;
}

export type Row = Required<Report>;

/** @param log lines of {@link Report} */
export function rowsOf(log: string): readonly Row[] {
  const rows = new Map<string, Row>();
  for (const line of log.split('\n')) {
    if (line === '') continue;
    // Written by `measure.ts` alone, in this run.
    const one = JSON.parse(line) as Report;
    rows.set(one.file, sum(rows.get(one.file) ?? empty(one.file), one));
  }
  return [...rows.values()].sort((a, b) => processor(b) - processor(a));
}

function empty(file: string): Row {
  return { file, processes: 0, wall: 0, own: 0, below: 0, assertions: 0 };
}

function sum(a: Row, b: Report): Row {
  return {
    file: a.file,
    processes: a.processes + b.processes,
    wall: a.wall + (b.wall ?? 0),
    own: a.own + (b.own ?? 0),
    below: a.below + (b.below ?? 0),
    assertions: a.assertions + (b.assertions ?? 0),
  };
}

function processor({ own, below }: Row): number {
  return own + below;
}

const HEAD = ['processor s', 'sum %', 'of itself', 'of others', 'wall s', 'processes', 'assertions', 'file'];

/** A Markdown table, the largest first, and a last row with the sums. */
export function tableOf(rows: readonly Row[]): string {
  const total = rows.reduce(sum, empty('all'));
  let so = 0;
  const lines = rows.map((row) => {
    so += processor(row);
    return cells(row, (100 * so) / (processor(total) || 1));
  });
  const rule = HEAD.map((_, at) => (at === HEAD.length - 1 ? '---' : '---:'));
  return [HEAD, rule, ...lines, cells(total, 100)].map((line) => `| ${line.join(' | ')} |\n`).join('');
}

function cells(row: Row, share: number): readonly string[] {
  const name = row.file.replace(/^.*\/dist\/test\//, '').replace(/\.js$/, '.ts');
  const seconds = [row.own, row.below, row.wall].map((value) => value.toFixed(1));
  return [processor(row).toFixed(1), share.toFixed(0), ...seconds, String(row.processes), String(row.assertions), name];
}
