/** The program as people start it: real processes, on loopback, with free ports. All are ended when the test ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { connect, type Keyturn } from '@keyturn/client';
import { MAIN } from '../support/main.js';

/** What both a test and the hooks of a suite can do. */
export interface Cleanup {
  after(task: () => Promise<void> | void): void;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export interface StartOptions {
  /** Environment variables on top of a clean environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Text for standard input, which then ends. Unset: it ends at once. `open`: it never does. */
  readonly stdin?: string | { readonly open: true };
  readonly cwd?: string;
  /** Unset: the bundle of the tests. */
  readonly main?: string;
}

export function startKeyturn(args: readonly string[], options: StartOptions = {}): Running {
  return start(process.execPath, [options.main ?? MAIN, ...args], options);
}

/** The same, but the program starts when a first line has been written to its standard input. */
export function startKeyturnOnCue(args: readonly string[], options: Omit<StartOptions, 'stdin'> = {}): Running {
  const words = ['-c', 'read cue; exec "$@"', 'sh', process.execPath, MAIN, ...args];
  return start('sh', words, { ...options, stdin: { open: true } });
}

function start(program: string, args: readonly string[], options: StartOptions): Running {
  const env = { ...withoutOwnVariables(), ...options.env };
  const child = spawn(program, args, { stdio: 'pipe', env, cwd: options.cwd });
  if (typeof options.stdin !== 'object') child.stdin.end(options.stdin ?? '');
  // A command that ends without reading its input is no failure of the test.
  child.stdin.on('error', () => {});
  return { child, ended: end(child) };
}

/** Runs a script of the shell to its end, with these as `$1` and so on. */
export function shell(script: string, ...args: readonly string[]): Promise<Ended> {
  return start('sh', ['-c', script, 'sh', ...args], {}).ended;
}

/** Runs to the end. */
export function keyturn(args: readonly string[], options?: StartOptions): Promise<Ended> {
  return startKeyturn(args, options).ended;
}

function withoutOwnVariables(): NodeJS.ProcessEnv {
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_')));
  // Nobody looks.
  return { ...others, KEYTURN_CONSOLE_LISTEN: 'off' };
}

async function end(child: ReturnType<typeof spawn>): Promise<Ended> {
  const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
  await once(child, 'close');
  return { exitCode: child.exitCode, signal: child.signalCode, stdout: stdout(), stderr: stderr() };
}

/** What has come until it is asked for; a pipe that the test closes itself ends without an end. */
function gather(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

export interface Serving {
  readonly address: string;
  readonly client: Keyturn;
  readonly child: ChildProcess;
}

/** A sidecar with these settings (YAML). */
export async function serve(cleanup: Cleanup, settings = '', listen = '127.0.0.1:0'): Promise<Serving> {
  const folder = await temporaryFolder(cleanup);
  const config = await put(folder, 'keyturn.yaml', settings);
  const args = [MAIN, 'serve', '--config', config, '--listen', listen, '--http-listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: withoutOwnVariables() });
  cleanup.after(() => stop(child));
  const address = await listening(child.stderr);
  const client = connect(address, { transport: 'unary' });
  cleanup.after(() => client.close());
  return { address, client, child };
}

async function listening(log: Readable): Promise<string> {
  const said: string[] = [];
  const lines = createInterface({ input: log });
  for await (const line of lines) {
    said.push(line);
    const entry: unknown = line.startsWith('{') ? JSON.parse(line) : undefined;
    if (isListening(entry)) {
      // Leaving the loop has closed the lines, not the pipe: it must be read on, or the sidecar blocks.
      log.resume();
      return entry.grpc;
    }
  }
  throw new Error(`the sidecar did not listen:\n${said.join('\n')}`);
}

function isListening(entry: unknown): entry is { readonly grpc: string } {
  return typeof entry === 'object' && entry !== null && 'grpc' in entry && typeof entry.grpc === 'string';
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

export async function temporaryFolder(cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-test-'));
  cleanup.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function put(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** Asks again until it is so; fails after 60 s. For what a process does on its own and tells nobody. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, `not within 60 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
