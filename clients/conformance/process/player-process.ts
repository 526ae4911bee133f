/** A player: requests go in as lines, answers and events come out. Whatever is not of the protocol breaks it for good. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { type Fields, isFields } from '../fields.js';
import { watched } from './children.js';
import { LineSplitter } from './line-splitter.js';
import { LogTail } from './log-tail.js';

/** What a request came to. */
export type Answer = ({ readonly ok: Fields } | { readonly error: Fields }) & { readonly at: number };

export interface Asked {
  readonly id: number;
  readonly answer: Promise<Answer>;
}

/** The player did not do what the protocol says, or is gone. */
export class PlayerBroken extends Error {
  override readonly name = 'PlayerBroken';
}

const MOST_OPEN = 100_000;

interface Pending {
  resolve(answer: Answer): void;
  reject(error: PlayerBroken): void;
}

type Listener = (event: Fields, at: number) => void;

export class PlayerProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #log: LogTail;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<Listener>();
  readonly exited: Promise<number | null>;
  #last = 0;
  #broken: PlayerBroken | undefined;

  /** @param file what is run: `clients/<language>/conformance/player` */
  constructor(file: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = process.env) {
    // Looked at here, because a file that is missing and one whose interpreter is missing are told with the same words.
    if (!existsSync(file)) throw new PlayerBroken(`there is no player: ${file}`);
    const child = watched(spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env }));
    this.#child = child;
    this.#log = new LogTail(child.stderr);
    child.stdout.setEncoding('utf8');
    const lines = new LineSplitter(
      (line) => this.#take(line),
      () => this.#break('a line has no end'),
    );
    child.stdout.on('data', (text: string) => lines.take(text));
    child.stdin.on('error', (error) => this.#break(`it takes no requests: ${error.message}`));
    child.on('error', (error) => this.#break(`it does not run: ${error.message}`));
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#break(`it ended (${signal ?? `exit code ${code}`})`);
        resolve(code);
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get broken(): PlayerBroken | undefined {
    return this.#broken;
  }

  /** The last lines of its log. */
  get log(): string {
    return this.#log.toString();
  }

  request(op: string, args: Fields): Asked {
    this.#last += 1;
    const id = this.#last;
    const answer = new Promise<Answer>((resolve, reject) => {
      if (this.#broken !== undefined) return reject(this.#broken);
      if (this.#pending.size >= MOST_OPEN) return reject(new PlayerBroken(`${MOST_OPEN} requests have no answer`));
      this.#pending.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, op, ...args })}\n`);
    });
    // Whoever waits for it is told; a scenario may end before.
    answer.catch(() => undefined);
    return { id, answer };
  }

  /** @returns what ends the listening */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** It stands still, and goes on: a machine that is suspended, a very long pause of its memory. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends its stdin: it closes its clients and exits. */
  end(): void {
    this.#child.stdin.end();
  }

  #take(line: string): void {
    const at = performance.now();
    const said = parsed(line);
    if (said === undefined) return this.#break(`this is no line of the protocol: ${line.slice(0, 200)}`);
    if (typeof said['event'] === 'string') {
      for (const listener of [...this.#listeners]) listener(said, at);
      return;
    }
    this.#answered(said, at, line);
  }

  #answered(said: Fields, at: number, line: string): void {
    const { id, ok, error } = said;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (pending === undefined) return this.#break(`nobody waits for this answer: ${line.slice(0, 200)}`);
    this.#pending.delete(Number(id));
    if (isFields(ok) && error === undefined) pending.resolve({ ok, at });
    else if (isFields(error) && ok === undefined) pending.resolve({ error, at });
    else {
      pending.reject(new PlayerBroken(`an answer has either ok or error: ${line.slice(0, 200)}`));
      this.#break(`an answer has either ok or error: ${line.slice(0, 200)}`);
    }
  }

  #break(why: string): void {
    this.#broken ??= new PlayerBroken(`the player is broken: ${why}`);
    for (const { reject } of this.#pending.values()) reject(this.#broken);
    this.#pending.clear();
  }
}

function parsed(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
