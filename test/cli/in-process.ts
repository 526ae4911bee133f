/**
 * Commands and sidecars in the process of the test: they cost a fraction of a process. What needs standard input, signals,
 * closed pipes or the end of a process is started by `keyturn-process.ts` and `serve-process.ts`.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { connect, type Keyturn } from '@keyturn/client';
import { runCommand } from '../../src/cli/command-line.js';
import type { Flags } from '../../src/config/config.js';
import { type LogLine, SidecarHere } from '../support/sidecar-here.js';
import { type Cleanup, type Ended, put, temporaryFolder } from './keyturn-process.js';

export interface Output {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** Output of the command to which the current asynchronous context belongs; the test runner writes outside of it. */
const outputs = new AsyncLocalStorage<Output>();

/** Runs a command whose output goes there. @returns the exit code */
export function runWith(output: Output, args: readonly string[]): Promise<number> {
  return outputs.run(output, () => runCommand(args));
}

type Done = (error?: Error | null) => void;

function capture(name: keyof Output): void {
  const stream = process[name];
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    const output = outputs.getStore();
    if (output === undefined) {
      return typeof encoding === 'function' ? write(chunk, encoding) : write(chunk, encoding, done);
    }
    output[name](typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    const written = typeof encoding === 'function' ? encoding : done;
    if (written !== undefined) process.nextTick(written);
    return true;
  };
  // As in a pipe.
  stream.isTTY = false;
}

capture('stdout');
capture('stderr');
// Node writes warnings past the stream.
process.on('warning', ({ name, message }) => outputs.getStore()?.stderr(`(node) ${name}: ${message}\n`));
// Settings of the machine are none of the test.
for (const name of Object.keys(process.env)) if (name.startsWith('KEYTURN_')) delete process.env[name];

type Variables = Readonly<Record<string, string>>;

let running = 0;
let hasVariables = false;

/** Runs a command to its end. @param options `env`: variables for it; no other command may run meanwhile */
export async function command(
  args: readonly string[],
  options: { readonly env?: Variables | undefined } = {},
): Promise<Ended> {
  const { env = {} } = options;
  assert.ok(!hasVariables, 'the command that runs has variables of its own');
  assert.ok(running === 0 || Object.keys(env).length === 0, 'variables would be seen by the command that runs');
  running += 1;
  hasVariables = Object.keys(env).length > 0;
  Object.assign(process.env, env);
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const output: Output = { stdout: (text) => stdout.push(text), stderr: (text) => stderr.push(text) };
  try {
    const exitCode = await runWith(output, args);
    return { exitCode, signal: null, stdout: stdout.join(''), stderr: stderr.join('') };
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    hasVariables = false;
    running -= 1;
  }
}

export interface ServedHere {
  readonly address: string;
  readonly client: Keyturn;
  /** Of its log, from the beginning. */
  readonly lines: readonly LogLine[];
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
}

/** A sidecar with these settings (YAML) and flags, ready. */
export async function serveHere(cleanup: Cleanup, settings = '', flags: Flags = {}): Promise<ServedHere> {
  const config = await put(await temporaryFolder(cleanup), 'keyturn.yaml', settings);
  const sidecar = await SidecarHere.startWith(cleanup, { config, ...flags });
  await sidecar.ready();
  const address = sidecar.address('grpc');
  const client = connect(address, { transport: 'unary' });
  cleanup.after(() => client.close());
  return { address, client, lines: sidecar.lines, get: (path) => sidecar.get(path) };
}
