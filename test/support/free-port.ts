/** A port for a server that is started again, or that does not tell which one it took. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Below those that systems hand out by themselves (Linux from 32,768, others from 49,152): nobody gets it in between. */
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 100;

/** A file for each port that is taken, with the id of its owner: no server listens while a test kills and restarts one. */
const TAKEN = join(tmpdir(), `keyturn-test-ports-${process.getuid?.() ?? ''}`);

/** Environment variable: the process that owns the ports. `npm test` sets its own, so that a run uses no port twice. */
export const PORT_OWNER = 'TEST_PORT_OWNER';
const owner = process.env[PORT_OWNER] ?? String(process.pid);
const own: string[] = [];

/** A port of loopback on which no process listens now, and which no other test takes before its owner has ended. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (take(port) && (await isFree(port))) return port;
  }
  throw new Error(`none of ${TRIES} ports from ${FIRST} to ${LAST} is free`);
}

function take(port: number): boolean {
  mkdirSync(TAKEN, { recursive: true });
  const file = join(TAKEN, String(port));
  if (isWritten(file)) return keep(file);
  if (!hasEnded(file)) return false;
  rmSync(file, { force: true });
  return isWritten(file) && keep(file);
}

function isWritten(file: string): boolean {
  try {
    writeFileSync(file, owner, { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

/** The file of a run stays: its owner has ended when the next run looks. */
function keep(file: string): true {
  if (owner !== String(process.pid)) return true;
  if (own.length === 0) process.once('exit', () => own.forEach((one) => void rmSync(one, { force: true })));
  own.push(file);
  return true;
}

/** A file without a number is being written. */
function hasEnded(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
