/**
 * `keyturn run` and `keyturn lead` in the process of the test: output of the commands that they start goes into their output, and
 * signals of the test reach one of them alone. That a process has its own output, input and signals is tested by processes:
 * `run.test.ts`, `lead/ending.test.ts`, `lead/newcomer.test.ts`.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import childProcess, { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { PassThrough } from 'node:stream';
import { HeardLines } from './heard-lines.js';
import { type Output, runWith } from './in-process.js';

interface Shell extends Output {
  readonly signals: EventEmitter;
  readonly stdin: PassThrough;
  /** Of commands that it started: until their pipes are closed somebody may write. */
  readonly open: Promise<unknown>[];
}

const shells = new AsyncLocalStorage<Shell>();

/** `process.on` and `process.off` of a signal are those of the shell. */
function divert(name: 'on' | 'off'): void {
  const original = process[name];
  Reflect.set(process, name, (event: string | symbol, listener: (...args: unknown[]) => void): unknown => {
    const shell = shells.getStore();
    const isOurs = shell !== undefined && typeof event === 'string' && event.startsWith('SIG');
    return isOurs ? shell.signals[name](event, listener) : Reflect.apply(original, process, [event, listener]);
  });
}

divert('on');
divert('off');

const FDS = ['stdin', 'stdout', 'stderr'] as const;

/** What a child would share with this process is a pipe to the shell. */
function piped(stdio: unknown): unknown {
  const each: readonly unknown[] = Array.isArray(stdio) ? stdio : FDS.map(() => stdio);
  return each.map((one) => (one === 'inherit' ? 'pipe' : one));
}

const { spawn } = childProcess;
Reflect.set(
  childProcess,
  'spawn',
  (command: string, args: readonly string[], options: { readonly stdio?: unknown }) => {
    const shell = shells.getStore();
    if (shell === undefined) return Reflect.apply(spawn, undefined, [command, args, options]);
    const child: unknown = Reflect.apply(spawn, undefined, [
      command,
      args,
      { ...options, stdio: piped(options.stdio) },
    ]);
    assert.ok(child instanceof ChildProcess);
    const shares = (at: number) =>
      options.stdio === 'inherit' || (Array.isArray(options.stdio) && options.stdio[at] === 'inherit');
    if (child.stdin !== null && shares(0)) {
      child.stdin.on('error', () => {});
      shell.stdin.pipe(child.stdin);
    }
    for (const [at, name] of [
      [1, 'stdout'],
      [2, 'stderr'],
    ] as const) {
      const stream = child[name];
      if (stream === null || !shares(at)) continue;
      stream.setEncoding('utf8').on('data', shell[name]);
      shell.open.push(once(stream, 'close'));
    }
    return child;
  },
);
syncBuiltinESMExports();

/** As a person sees it in a shell: lines as they come, and how it ended. */
export class ShellHere extends HeardLines {
  readonly #signals = new EventEmitter();
  readonly #stdin = new PassThrough();
  /** Its one signal was sent. */
  #isSignalled = false;
  /** The exit code. It has come when nobody can write anything any more: the command that it ran neither. */
  readonly ended: Promise<number>;

  /** @param words after `keyturn` */
  constructor(cleanup: { after(task: () => Promise<void> | void): void }, words: readonly string[]) {
    super();
    this.ended = this.#run(words);
    cleanup.after(async () => {
      if (!this.#isSignalled && !this.isOver) this.signal('SIGTERM');
      await this.ended;
    });
  }

  async toTheEnd(): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
    const exitCode = await this.ended;
    const [stdout, stderr] = [this.stdout, this.stderr].map((lines) => lines.map((line) => `${line}\n`).join(''));
    return { exitCode, stdout: stdout ?? '', stderr: stderr ?? '' };
  }

  /** To it alone. A second one would end the process, which is that of the test. */
  signal(name: NodeJS.Signals): void {
    assert.ok(!this.#isSignalled, 'it has had its signal');
    this.#isSignalled = true;
    this.#signals.emit(name);
  }

  /** For its standard input, which ends then. */
  type(text: string): void {
    this.#stdin.end(text);
  }

  async #run(words: readonly string[]): Promise<number> {
    const open: Promise<unknown>[] = [];
    const [stdout, stderr] = [this.#linesInto('stdout'), this.#linesInto('stderr')];
    const shell: Shell = { stdout, stderr, signals: this.#signals, stdin: this.#stdin, open };
    const code = await shells.run(shell, () => runWith(shell, words));
    await Promise.all(open);
    this.over();
    return code;
  }

  #linesInto(stream: 'stdout' | 'stderr'): (text: string) => void {
    let rest = '';
    return (text) => {
      const parts = `${rest}${text}`.split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) this.heard(line, stream);
    };
  }
}
