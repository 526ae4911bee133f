import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { after } from 'node:test';

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Unlike that of the machine it has nobody's settings and plugins. */
export const ENVIRONMENT: NodeJS.ProcessEnv = { PATH: process.env['PATH'], HOME: tmpdir() };

interface Waiting {
  readonly resolve: (said: Said) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One process for all commands of a test file: a line of JSON has the arguments of a command, and a line of JSON answers with
 * its exit code and output. The process starts with the first command, and holds up the end of the tests only while a command runs.
 */
export class KeptProgram {
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  readonly #waiting: Waiting[] = [];
  #complaint = '';

  constructor(
    private readonly program: string,
    private readonly args: readonly string[] = [],
  ) {
    after(() => this.#end());
  }

  run(args: readonly string[]): Promise<Said> {
    const child = this.#child ?? this.#start();
    this.#child = child;
    child.ref();
    child.stdin.write(`${JSON.stringify(args)}\n`);
    return new Promise((resolve, reject) => void this.#waiting.push({ resolve, reject }));
  }

  #start(): ChildProcessByStdio<Writable, Readable, Readable> {
    const child = spawn(this.program, [...this.args], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [child.stdin, child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Written by the programs in `test/deploy/programs/`.
      const said: Said = JSON.parse(line);
      this.#waiting.shift()?.resolve(said);
      if (this.#waiting.length === 0) child.unref();
    });
    child.stderr.on('data', (text) => (this.#complaint += text));
    // The end of the process is what counts.
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.#fail(error));
    child.on('close', (code) => {
      this.#child = undefined;
      this.#fail(new Error(`${this.program} ended with ${code}: ${this.#complaint}`));
    });
    return child;
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.ref();
    const closed = once(child, 'close');
    child.stdin.end();
    await closed;
  }
}
