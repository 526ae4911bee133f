/** `keyturn replay` as people start it, and what it refuses. The replay itself: `replay/engine.test.ts`. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { ReplaySummary } from '../../src/cli/replay/replay-summary.js';
import { registerReplay } from '../../src/cli/replay.js';
import { command } from './in-process.js';
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
import { refusalOf } from './refusal.js';
import { assertPromises, classOf, column, isBusy, isIdle, SUMMARY_FIELDS, someTraffic } from './replay/replayed.js';
import { ShellHere } from './shell-here.js';

const CSV = ['-', '--format', 'csv', '--key', 'k'];

function summaryOf({ stdout, stderr }: Omit<Ended, 'signal'>): ReplaySummary {
  assert.match(stdout, /^\{.*\}\n$/, `one object on standard output, not ${stdout}${stderr}`);
  // A field that is missing or of another kind fails the assertions that follow.
  const summary: ReplaySummary = JSON.parse(stdout);
  assert.deepEqual(Object.keys(summary), SUMMARY_FIELDS);
  return summary;
}

describe('keyturn replay', () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let folder: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    sidecar = await serve(cleanup);
    folder = await temporaryFolder(cleanup);
    env = { KEYTURN_ADDRESS: sidecar.address };
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  async function replay(args: readonly string[], stdin?: string): Promise<Ended> {
    return keyturn(['replay', ...args], { env, ...(stdin !== undefined && { stdin }) });
  }

  it('a file: one answer per line, one worker per key', async () => {
    const text = someTraffic(300);
    const file = await put(folder, 'path.tsv', text);
    const words = [file, '--key', 'path', '--workers', '8', '--work', '5ms', '--json'];
    const ended = await command(['replay', ...words, '--address', sidecar.address]);
    assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
    const summary = summaryOf(ended);
    assertPromises(summary, 300);
    assert.equal(summary.class, classOf(column(text, 'path'), 8));
  });

  it('a log on standard input, up to --limit, each call by itself', async () => {
    const log = '::1 - - [x] "GET / HTTP/1.1" 200 1\n'.repeat(5);
    const args = ['-', '--format', 'combined', '--key', 'path', '--mode', 'submit', '--unary', '--json'];
    const ended = await replay([...args, '--limit', '3'], log);
    assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
    assertPromises(summaryOf(ended), 3);
  });

  it('tells people in a table', async () => {
    const ended = await replay(CSV, 'k\na\nb\n');
    assert.equal(ended.exitCode, 0);
    for (const line of [/^lines +2$/m, /^accepted +2 /m, /^max at once +1 /m, /^class +none: no key repeats$/m]) {
      assert.match(ended.stdout, line);
    }
  });

  /** In this process, of a file. */
  async function here(t: TestContext, queue: string, text: string, ...more: readonly string[]): Promise<ShellHere> {
    const file = await put(folder, `${queue}.csv`, text);
    const words = ['replay', file, '--format', 'csv', '--key', 'k', '--queue', queue, '--address', sidecar.address];
    return new ShellHere(t, [...words, '--work', '10m', '--json', ...more]);
  }

  const THREE = 'k\na\na\nb\n';

  /** Of {@link THREE}, of which one waits behind another. */
  async function assertGivenBack(queue: string, ended: Omit<Ended, 'signal'>): Promise<void> {
    assert.equal(ended.exitCode, 130);
    const { lines, accepted, declined } = summaryOf(ended);
    assert.deepEqual({ lines, accepted, declined }, { lines: 2, accepted: 2, declined: 0 });
    assert.match(ended.stderr, /gave 1 line back unprocessed/);
    assert.equal(await isIdle(sidecar.client, queue), true);
  }

  it('an interrupt gives back all turns and places, and tells what was seen (enqueue)', async (t: TestContext) => {
    const args = ['replay', ...CSV, '--mode', 'enqueue', '--queue', 'interrupted', '--workers', '3', '--work', '10m'];
    const running = startKeyturn([...args, '--json'], { env, stdin: THREE });
    t.after(() => running.child.kill('SIGKILL'));
    await until('two turns live and one line waits', () => isBusy(sidecar.client, 'interrupted'));
    running.child.kill('SIGINT');
    await assertGivenBack('interrupted', await running.ended);
  });

  it('an interrupt gives back all turns and places, and tells what was seen (submit --unary)', async (t: TestContext) => {
    const running = await here(t, 'interrupted-too', THREE, '--mode', 'submit', '--workers', '3', '--unary');
    await until('two turns live and one line waits', () => isBusy(sidecar.client, 'interrupted-too'));
    running.signal('SIGINT');
    await assertGivenBack('interrupted-too', await running.toTheEnd());
  });

  it('a turn that is lost at work makes it fail', async (t: TestContext) => {
    const running = await here(t, 'evicted', 'k\nlost\n');
    const evict = async () => (await sidecar.client.admin.evictHolder('evicted', 'lost')).evicted;
    await until('the holder is evicted', evict);
    const ended = await running.toTheEnd();
    assert.equal(ended.exitCode, 1);
    assert.match(ended.stderr, /1 turn got lost while the worker was at work/);
    assert.equal(summaryOf(ended).lines, 1);
  });

  it('an interrupt ends it while it waits for input', async (t: TestContext) => {
    const queue = 'waits-for-input';
    const args = ['replay', '-', '--format', 'jsonl', '--key', 'k', '--queue', queue, '--json'];
    const running = startKeyturn(args, { env, stdin: { open: true } });
    t.after(() => running.child.kill('SIGKILL'));
    running.child.stdin?.write('{"k":1}\n');
    await until('the first line is through', async () => {
      const { queues } = await sidecar.client.admin.listQueues();
      return queues.some(({ name }) => name === queue) && (await isIdle(sidecar.client, queue));
    });
    running.child.kill('SIGINT');
    const ended = await running.ended;
    assert.equal(ended.exitCode, 130, ended.stderr);
    assert.equal(summaryOf(ended).lines, 1);
  });

  it('says what is wrong on standard error, and nothing else', async () => {
    const { exitCode, stdout, stderr } = await replay(['-', '--format', 'csv', '--key', 'x'], 'k,v\n1,2\n');
    assert.deepEqual([exitCode, stdout], [2, '']);
    assert.match(stderr, /^keyturn: standard input, line 1: no column "x"; there are: "k", "v"\n$/);
  });

  describe('says what is wrong', () => {
    interface Case {
      readonly title: string;
      readonly args: readonly string[];
      /** In a file that stands before the arguments. */
      readonly input?: string;
      readonly exitCode: number;
      readonly message: RegExp;
    }
    const cases: readonly Case[] = [
      {
        title: 'a malformed line',
        args: ['--format', 'csv', '--key', 'k'],
        input: 'k,v\nb\n',
        exitCode: 1,
        message: /, line 2: 1 fields, but the header has 2/,
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
        args: [...CSV, '--work', '5'],
        exitCode: 2,
        message: /'5' is invalid\. A duration is a number and its unit/,
      },
      {
        title: 'no workers',
        args: [...CSV, '--workers', '0'],
        exitCode: 2,
        message: /'0' is invalid\. Allowed: a whole number from 1 to 10000/,
      },
      {
        title: 'an unknown mode',
        args: [...CSV, '--mode', 'x'],
        exitCode: 2,
        message: /Allowed choices are enqueue, submit/,
      },
      {
        title: 'a name that no queue can have',
        args: ['--format', 'csv', '--key', 'k', '--queue', 'a b'],
        input: 'k\na\n',
        exitCode: 2,
        message: /queue: /,
      },
      {
        title: 'a sidecar that is not there',
        args: ['--format', 'csv', '--key', 'k', '--address', '127.0.0.1:1'],
        input: 'k\na\n',
        exitCode: 69,
        message:
          /no answer from a sidecar at 127\.0\.0\.1:1 \(connect ECONNREFUSED\)\.\nStart one with "keyturn serve"/,
      },
      {
        title: 'an address that is none',
        args: [...CSV, '--address', 'here'],
        exitCode: 2,
        message: /An address is host:port/,
      },
    ];
    for (const { title, args, input, exitCode, message } of cases) {
      it(title, async () => {
        const file = input === undefined ? [] : [await put(folder, 'wrong.csv', input)];
        const address = args.includes('--address') ? [] : ['--address', sidecar.address];
        const refused = await refusalOf(registerReplay, ['replay', ...file, ...args, ...address]);
        assert.match(refused.message, message);
        assert.equal(refused.exitCode, exitCode);
      });
    }
  });
});
