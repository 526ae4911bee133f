/** Programs from the packages of the system, on loopback ports of their own. Whatever else listens here is left alone. */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pass } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cpuSecondsOf } from './process-time.js';

/** A program, and the command that installs it. */
export interface Program {
  readonly needs: string;
  readonly install: string;
}

export interface NativeServer {
  readonly port: number;
  /** Since its start. NaN: this system does not tell. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

export const HOST = '127.0.0.1';
/** It accepts connections after this, ms, or it never will. */
const START_TIMEOUT = 5_000;
const BETWEEN_TRIES = 20;

/** @param question flags with which the program says something and ends */
export async function isInstalled({ needs }: Program, question: string): Promise<boolean> {
  try {
    await promisify(execFile)(needs, [question]);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Resolves when it accepts connections. It is ended with this process, by its own id. @param as who runs it, and where */
export async function startNative(
  { needs }: Program,
  flags: (port: number) => string[],
  as: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd'> = {},
): Promise<NativeServer> {
  const port = await freePort();
  const child = spawn(needs, flags(port), { stdio: 'ignore', ...as });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  await accepting(child, needs, port);
  const stop = async () => {
    process.off('exit', end);
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return { port, cpuSeconds: () => cpuSecondsOf(child.pid ?? 0), stop };
}

async function accepting(child: ChildProcess, program: string, port: number): Promise<void> {
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = `${program} ended with ${signal ?? code}`;
  });
  for (const start = performance.now(); performance.now() - start < START_TIMEOUT; await pass(BETWEEN_TRIES)) {
    if (ended !== undefined) throw new Error(ended);
    const socket = await openSocket(port).catch(() => undefined);
    if (socket === undefined) continue;
    socket.destroy();
    return;
  }
  throw new Error(`${program} accepted no connection within ${START_TIMEOUT} ms`);
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ host: HOST, port, noDelay: true });
  // `once` rejects when the socket fails.
  await once(socket, 'connect');
  return socket;
}

/** Free a moment ago: who takes it first makes the row fail, and says so. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
  return address.port;
}
