/**
 * A program that ends with the test, however the test ends. A runner that gives a test file up runs no hooks, so
 * whoever starts a server must not be the only one who ends it: a shell beside the program holds a pipe from the test,
 * and kills the program when that pipe is closed, also by the death of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** The shell lets go of the output, so that the output ends when the program does. */
const GUARD = '"$@" </dev/null & exec >/dev/null 2>&1; read -r end; kill -KILL $!; wait $!';

/** Lines kept to tell what went wrong. */
const REMEMBERED = 50;

export class GuardedProcess {
  readonly #shell: ChildProcess;
  readonly #said: string[] = [];
  readonly #listeners = new Set<(line: string | undefined) => void>();
  #ended = false;

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    const shell = spawn('sh', ['-c', GUARD, 'sh', program, ...args], { stdio: 'pipe', env });
    this.#shell = shell;
    let open = 2;
    const closed = () => {
      open -= 1;
      if (open === 0) this.#tell(undefined);
    };
    for (const output of [shell.stdout, shell.stderr]) this.#read(output, closed);
  }

  /** The first line from now on that fits. Rejects when the program ends, or `ms` pass, without it. */
  async says(pattern: RegExp, ms: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        settle();
      };
      const fail = (why: string) =>
        finish(() => reject(new Error(`${why} before it said ${pattern}:\n${this.#said.join('\n')}`)));
      const listener = (line: string | undefined) => {
        if (line === undefined) fail('it ended');
        else if (pattern.test(line)) finish(() => resolve(line));
      };
      const timer = setTimeout(() => fail(`${ms} ms passed`), ms);
      this.#listeners.add(listener);
      if (this.#ended) listener(undefined);
    });
  }

  /** Resolves when it has ended, and all that it started and that shares its output. */
  async ended(): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      const listener = (line: string | undefined) => {
        if (line !== undefined) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  async kill(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const exit = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await exit;
  }

  #read(output: Readable | null, closed: () => void): void {
    if (output === null) return closed();
    createInterface({ input: output })
      .on('line', (line) => {
        this.#said.push(line);
        if (this.#said.length > REMEMBERED) this.#said.shift();
        this.#tell(line);
      })
      .on('close', closed);
  }

  #tell(line: string | undefined): void {
    this.#ended ||= line === undefined;
    for (const listener of [...this.#listeners]) listener(line);
  }
}
