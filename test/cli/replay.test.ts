import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { traffic } from '../../src/cli/traffic.js';
import {
  type Ended,
  keyturn,
  put,
  type Serving,
  serve,
  startKeyturn,
  temporaryFolder,
  until,
} from './keyturn-process.js';

const SETTINGS = `
queues:
  everything: { waiting_per_key: unlimited }
  newest: { waiting_per_key: 1, when_full: replace }
  brief: { lease: 300ms }
  evicted: { lease: 1200ms }
`;

/** Over a session, as it is, and each call by itself. */
const TRANSPORTS: readonly (readonly string[])[] = [[], ['--unary']];

const WAYS = ['enqueue', 'submit'].flatMap((mode) =>
  TRANSPORTS.map((transport) => ({ mode, transport, way: [mode, ...transport].join(' ') })),
);

const SUMMARY_FIELDS = [
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

/** The fields of a summary, as a script reads them. */
interface Summary {
  readonly lines: number;
  readonly accepted: number;
  readonly waited: number;
  readonly declined: number;
  readonly saved: number;
  readonly wait_p50_ms: number;
  readonly wait_p99_ms: number;
  readonly max_at_once: number;
  readonly order_violations: number;
  readonly class: string;
  readonly seconds: number;
}

function summaryOf({ stdout, stderr }: Ended): Summary {
  assert.match(stdout, /^\{.*\}\n$/, `one object on standard output, not ${stdout}${stderr}`);
  // A field that is missing or of another kind fails the assertions that follow.
  const summary = JSON.parse(stdout) as Summary;
  assert.deepEqual(Object.keys(summary), SUMMARY_FIELDS);
  return summary;
}

function assertPromises(summary: Summary, lines: number): void {
  assert.equal(summary.lines, lines);
  assert.equal(summary.accepted + summary.declined, lines);
  assert.equal(summary.max_at_once, 1);
  assert.equal(summary.order_violations, 0);
  assert.equal(summary.saved, Number((summary.declined / lines).toFixed(4)));
  assert.ok(summary.wait_p50_ms >= 0 && summary.wait_p50_ms <= summary.wait_p99_ms);
  assert.ok(summary.seconds > 0);
}

/** The class by its definition, from the whole history. */
function classOf(keys: readonly string[], workers: number): string {
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

function firstLines(tsv: string, lines: number): string {
  return `${tsv
    .split('\n')
    .slice(0, 1 + lines)
    .join('\n')}\n`;
}

function column(tsv: string, name: string): string[] {
  const [header = '', ...lines] = tsv.trimEnd().split('\n');
  const at = header.split('\t').indexOf(name);
  return lines.map((line) => line.split('\t')[at] ?? '');
}

const SAMPLE = fileURLToPath(new URL('../../../../shared/data/access-2015.tsv', import.meta.url));

describe('keyturn replay', () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let folder: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    sidecar = await serve(cleanup, SETTINGS);
    folder = await temporaryFolder(cleanup);
    env = { KEYTURN_ADDRESS: sidecar.address };
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  async function replay(args: readonly string[], stdin?: string): Promise<Ended> {
    return keyturn(['replay', ...args], { env, ...(stdin !== undefined && { stdin }) });
  }

  async function idle(queue: string): Promise<boolean> {
    const found = (await sidecar.client.admin.listQueues()).queues.find(({ name }) => name === queue);
    return found === undefined || (found.liveTurns === 0 && found.waiting === 0);
  }

  describe('real traffic, where it is, else made up', () => {
    const all = existsSync(SAMPLE) ? readFileSync(SAMPLE, 'utf8') : [...traffic(2015, 10_000)].join('');

    for (const transport of TRANSPORTS) {
      // A call for each step of each line takes three times as long.
      const lines = transport.length === 0 ? 10_000 : 2_500;
      const text = firstLines(all, lines);

      it(`by path, ${['enqueue', ...transport].join(' ')}: one answer per line, one worker per key`, async () => {
        const file = await put(folder, 'path.tsv', text);
        const ended = await replay([file, '--key', 'path', '--workers', '8', '--work', '5ms', '--json', ...transport]);
        assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
        const summary = summaryOf(ended);
        assertPromises(summary, lines);
        assert.ok(summary.declined > 0, 'some work was saved');
        assert.ok(summary.waited >= summary.declined / 10, 'some lines waited');
        assert.equal(summary.class, classOf(column(text, 'path'), 8));
      });

      it(`by client, ${['submit', ...transport].join(' ')}: every line processed, none declined, all in order`, async () => {
        const file = await put(folder, 'client.tsv', text);
        const ended = await replay([
          file,
          '--key',
          'client',
          '--mode',
          'submit',
          '--workers',
          '8',
          '--work',
          '1ms',
          '--json',
          ...transport,
        ]);
        assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
        const summary = summaryOf(ended);
        assertPromises(summary, lines);
        assert.equal(summary.accepted, lines);
        assert.equal(summary.class, classOf(column(text, 'client'), 8));
      });
    }
  });

  describe('made-up traffic', () => {
    const text = [...traffic(7, 1_500)].join('');

    it('on a queue that keeps everything, every line is processed in order', async () => {
      const ended = await replay(
        ['-', '--format', 'tsv', '--key', 'client', '--queue', 'everything', '--workers', '16', '--json'],
        text,
      );
      assert.equal(ended.exitCode, 0, ended.stderr);
      const summary = summaryOf(ended);
      assertPromises(summary, 1_500);
      assert.equal(summary.declined, 0);
      assert.equal(await idle('everything'), true);
    });

    it('with many workers more work is saved', async () => {
      const ended = await replay(
        ['-', '--format', 'tsv', '--key', 'path', '--workers', '100', '--work', '10ms', '--json'],
        text,
      );
      assert.equal(ended.exitCode, 0, ended.stderr);
      const summary = summaryOf(ended);
      assertPromises(summary, 1_500);
      assert.ok(summary.saved > 0.05, `saved ${summary.saved}`);
    });

    it('submitted to a queue where the newest wins: superseded lines are declined ones', async () => {
      const ended = await replay(
        ['-', '--format', 'tsv', '--key', 'client', '--queue', 'newest', '--mode', 'submit', '--json'],
        text,
      );
      assert.equal(ended.exitCode, 0, ended.stderr);
      const summary = summaryOf(ended);
      assertPromises(summary, 1_500);
      assert.ok(summary.declined > 0);
      assert.equal(await idle('newest'), true);
    });
  });

  for (const transport of TRANSPORTS) {
    it(`of three lines of one key at once: one works, one waits, one is declined (${['enqueue', ...transport].join(' ')})`, async () => {
      const ended = await replay(
        ['-', '--format', 'csv', '--key', 'k', '--workers', '3', '--work', '1s', '--json', ...transport],
        'k\na\na\na\n',
      );
      const { lines, accepted, waited, declined, saved } = summaryOf(ended);
      assert.deepEqual(
        { lines, accepted, waited, declined, saved },
        { lines: 3, accepted: 2, waited: 1, declined: 1, saved: 0.3333 },
      );
    });
  }

  it('reads JSON lines and combined logs from standard input', async () => {
    const json = await replay(['-', '--format', 'jsonl', '--key', 'user', '--json'], '{"user":1}\n{"user":2}\n');
    assert.deepEqual([summaryOf(json).lines, summaryOf(json).class], [2, 'none']);
    const log = '::1 - - [x] "GET / HTTP/1.1" 200 1\n';
    const combined = await replay(
      ['-', '--format', 'combined', '--key', 'path', '--json', '--limit', '3'],
      log.repeat(5),
    );
    assert.equal(summaryOf(combined).lines, 3);
  });

  it('tells people in a table', async () => {
    const ended = await replay(['-', '--format', 'csv', '--key', 'k'], 'k\na\nb\n');
    assert.equal(ended.exitCode, 0);
    for (const line of [/^lines +2$/m, /^accepted +2 /m, /^max at once +1 /m, /^class +none: no key repeats$/m]) {
      assert.match(ended.stdout, line);
    }
  });

  for (const { mode, transport, way } of WAYS) {
    it(`an empty input is a replay of nothing (${way})`, async () => {
      const args = ['-', '--format', 'csv', '--key', 'k', '--mode', mode, '--json', ...transport];
      const summary = summaryOf(await replay(args, 'k\n'));
      assert.deepEqual([summary.lines, summary.max_at_once, summary.class], [0, 0, 'none']);
    });

    it(`work that takes longer than the lease keeps its turn (${way})`, async () => {
      const args = [
        '-',
        '--format',
        'csv',
        '--key',
        'k',
        '--mode',
        mode,
        '--queue',
        'brief',
        '--workers',
        '2',
        '--work',
        '1s',
      ];
      const ended = await replay([...args, ...transport, '--json'], 'k\na\na\n');
      assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
      assertPromises(summaryOf(ended), 2);
    });

    it(`an interrupt gives back all turns and places, and tells what was seen (${way})`, async (t: TestContext) => {
      const queue = `interrupted-${mode}${transport}`;
      const args = ['replay', '-', '--format', 'csv', '--key', 'k', '--mode', mode, '--queue', queue, '--workers', '3'];
      const running = startKeyturn([...args, '--work', '10m', '--json', ...transport], { env, stdin: 'k\na\na\nb\n' });
      t.after(() => running.child.kill('SIGKILL'));
      await until('two turns live and one line waits', async () => {
        const found = (await sidecar.client.admin.listQueues()).queues.find(({ name }) => name === queue);
        return found?.liveTurns === 2 && found.waiting === 1;
      });
      running.child.kill('SIGINT');
      const ended = await running.ended;
      assert.equal(ended.exitCode, 130);
      const { lines, accepted, declined } = summaryOf(ended);
      assert.deepEqual({ lines, accepted, declined }, { lines: 2, accepted: 2, declined: 0 });
      assert.match(ended.stderr, /gave 1 line back unprocessed/);
      assert.equal(await idle(queue), true);
    });

    it(`a turn that is lost at work makes it fail (${way})`, async (t: TestContext) => {
      // Long enough for a busy machine to renew in time the turn that comes after it; its loss is found out by a renewal.
      const queue = 'evicted';
      const args = ['replay', '-', '--format', 'csv', '--key', 'k', '--mode', mode, '--queue', queue, '--work', '2s'];
      const running = startKeyturn([...args, '--json', ...transport], { env, stdin: `k\nlost-${mode}\n` });
      t.after(() => running.child.kill('SIGKILL'));
      await until(
        'the holder is evicted',
        async () => (await sidecar.client.admin.evictHolder(queue, `lost-${mode}`)).evicted,
      );
      const ended = await running.ended;
      assert.equal(ended.exitCode, 1);
      assert.match(ended.stderr, /1 turn got lost while the worker was at work/);
      assert.equal(summaryOf(ended).lines, 1);
    });
  }

  it('an interrupt ends it while it waits for input', async (t: TestContext) => {
    const queue = 'waits-for-input';
    const args = ['replay', '-', '--format', 'jsonl', '--key', 'k', '--queue', queue, '--json'];
    const running = startKeyturn(args, { env, stdin: { open: true } });
    t.after(() => running.child.kill('SIGKILL'));
    running.child.stdin?.write('{"k":1}\n');
    await until('the first line is through', async () => {
      return (await sidecar.client.admin.listQueues()).queues.some(({ name }) => name === queue) && (await idle(queue));
    });
    running.child.kill('SIGINT');
    const ended = await running.ended;
    assert.equal(ended.exitCode, 130, ended.stderr);
    assert.equal(summaryOf(ended).lines, 1);
  });

  it("refuses somebody else's items, and gives them back", async () => {
    await sidecar.client.submit({ queue: 'shared', items: [{ key: 'x', itemId: 'not-yours' }] });
    const ended = await replay(
      ['-', '--format', 'csv', '--key', 'k', '--mode', 'submit', '--queue', 'shared'],
      'k\na\n',
    );
    assert.equal(ended.exitCode, 1);
    assert.match(ended.stderr, /queue shared has items of somebody else \(not-yours\): choose another with --queue/);
    assert.equal((await sidecar.client.awaitItem({ queue: 'shared', itemId: 'not-yours' })).state, 'waiting');
  });

  describe('says what is wrong', () => {
    interface Case {
      readonly title: string;
      readonly args: readonly string[];
      readonly stdin?: string;
      readonly exitCode: number;
      readonly message: RegExp;
    }
    const csv = ['-', '--format', 'csv', '--key', 'k'];
    const cases: readonly Case[] = [
      {
        title: 'an unknown column',
        args: ['-', '--format', 'csv', '--key', 'x'],
        stdin: 'k,v\n1,2\n',
        exitCode: 2,
        message: /standard input, line 1: no column "x"; there are: "k", "v"/,
      },
      {
        title: 'a malformed line',
        args: csv,
        stdin: 'k,v\nb\n',
        exitCode: 1,
        message: /standard input, line 2: 1 fields, but the header has 2/,
      },
      {
        title: 'a file that is not there',
        args: ['no-such.csv', '--key', 'k'],
        exitCode: 1,
        message: /cannot read no-such\.csv: there is no such file \(ENOENT\)/,
      },
      {
        title: 'a folder',
        args: ['.', '--format', 'csv', '--key', 'k'],
        exitCode: 1,
        message: /cannot read \.: .*EISDIR/,
      },
      {
        title: 'a format that the name does not tell',
        args: ['/etc/passwd', '--key', 'k'],
        exitCode: 2,
        message: /the name of \/etc\/passwd does not tell its format: say --format tsv\|csv\|jsonl\|combined/,
      },
      { title: 'a missing key', args: ['x.csv'], exitCode: 2, message: /--key <column>/ },
      {
        title: 'a duration without a unit',
        args: [...csv, '--work', '5'],
        exitCode: 2,
        message: /'5' is invalid\. A duration is a number and its unit/,
      },
      {
        title: 'no workers',
        args: [...csv, '--workers', '0'],
        exitCode: 2,
        message: /'0' is invalid\. Allowed: a whole number from 1 to 10000/,
      },
      {
        title: 'an unknown mode',
        args: [...csv, '--mode', 'x'],
        exitCode: 2,
        message: /Allowed choices are enqueue, submit/,
      },
      {
        title: 'a name that no queue can have',
        args: [...csv, '--queue', 'a b'],
        stdin: 'k\na\n',
        exitCode: 2,
        message: /queue: /,
      },
      {
        title: 'a sidecar that is not there',
        args: [...csv, '--address', '127.0.0.1:1'],
        stdin: 'k\na\n',
        exitCode: 69,
        message:
          /no answer from a sidecar at 127\.0\.0\.1:1 \(connect ECONNREFUSED\)\.\nStart one with "keyturn serve"/,
      },
      {
        title: 'an address that is none',
        args: [...csv, '--address', 'here'],
        exitCode: 2,
        message: /An address is host:port/,
      },
    ];
    for (const { title, args, stdin, exitCode, message } of cases) {
      it(title, async () => {
        const ended = await replay(args, stdin);
        assert.match(ended.stderr, message);
        assert.deepEqual([ended.exitCode, ended.stdout], [exitCode, '']);
      });
    }
  });
});
