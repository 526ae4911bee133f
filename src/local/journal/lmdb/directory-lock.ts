/**
 * One process to a directory. The owner listens on a Unix socket in it, and whoever else wants it connects to that: the
 * kernel closes the socket with the process, however it ends, so nobody has to clear anything away after `kill -9`, and
 * it is one and the same for containers that share the directory. (A file with a process id says nothing across
 * containers, and Node has no `flock`.) Machines that share a directory over a network are not kept apart.
 *
 * Each makes a socket with a name of its own, listens, and only then looks at all the others: who finds one that is
 * listened on goes away. Of two that come at once each sees the other, so at most one stays; both may go, and try again
 * after a while of their own.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, readdir, stat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { accessError, journalError } from '../failures.js';

const NAME = /^lock-[0-9a-f]{16}\.sock$/;
/** What the kernel takes for the name of a socket, bytes, the end included; less on some. */
const LONGEST_NAME = 103;
/** How long an owner may take to name itself: a stopped process does not answer, and has the directory all the same. */
const ANSWER_MS = 500;
const TRIES = 8;

export interface DirectoryLock {
  release(): Promise<void>;
}

/** The owner of a directory, in words: `process 17 on host a`. */
type Owner = string;

/** @throws JournalError `in_use` */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const lock = await tryToLock(directory);
  if ('release' in lock) return lock;
  throw journalError('in_use', `${directory} is in use by ${lock.owner}`);
}

/** @throws JournalError when it cannot be known */
export async function tryToLock(directory: string): Promise<DirectoryLock | { readonly owner: Owner }> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(directory, 'r');
    for (let left = TRIES; ; left -= 1) {
      const own = await publish(folder, directory);
      const found = await look(folder, directory, own.name);
      // Before it was listened on, another process may have taken it for the socket of a dead one, and removed it.
      if (found === undefined && (await isThere(folder, directory, own.name))) return release(own, folder);
      await withdraw(own);
      if (found !== undefined && (found.owns || left <= 1)) {
        await folder.close();
        return { owner: found.who };
      }
      await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 200));
    }
  } catch (error) {
    await folder?.close();
    throw accessError('locking', directory, error);
  }
}

/** The socket of a process that wants the directory, listened on. */
interface Published {
  readonly server: Server;
  readonly path: string;
  readonly name: string;
  /** What it answers to a process that connects. */
  says: { owns: boolean };
}

async function publish(folder: FileHandle, directory: string): Promise<Published> {
  const says = { owns: false };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(`${JSON.stringify({ ...says, pid: process.pid, host: hostname() })}\n`);
  });
  const name = `lock-${randomBytes(8).toString('hex')}.sock`;
  const path = socketPath(folder, directory, name);
  server.listen({ path, backlog: 64 });
  await once(server, 'listening');
  server.unref();
  return { server, path, name, says };
}

/** The name of a socket is short, that of a directory need not be: an open directory has a short one too. */
function socketPath(folder: FileHandle, directory: string, name: string): string {
  if (process.platform === 'linux') return `/proc/self/fd/${folder.fd}/${name}`;
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= LONGEST_NAME) return path;
  throw journalError('io', `the name of the directory ${directory} is too long for a socket in it`);
}

interface Found {
  readonly who: Owner;
  /** False: a process that only wants it too. */
  readonly owns: boolean;
}

/** Another process that listens; the owner if there is one. The process that stays removes sockets that no process listens on. */
async function look(folder: FileHandle, directory: string, own: string): Promise<Found | undefined> {
  const others = (await readdir(directory)).filter((name) => NAME.test(name) && name !== own);
  const dead: string[] = [];
  let found: Found | undefined;
  for (const name of others) {
    const answer = await ask(socketPath(folder, directory, name));
    if (answer === 'dead') dead.push(name);
    else if (found === undefined || answer.owns) found = answer;
  }
  // Only a process that found no other: one that comes meanwhile finds this one listening, and gives up.
  if (found === undefined) for (const name of dead) await forget(join(directory, name));
  return found;
}

async function isThere(folder: FileHandle, directory: string, name: string): Promise<boolean> {
  try {
    await stat(socketPath(folder, directory, name));
    return true;
  } catch {
    return false;
  }
}

function ask(path: string): Promise<Found | 'dead'> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    let text = '';
    const finish = (answer: Found | 'dead') => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Full or slow: a process is there.
    const timer = setTimeout(() => finish(who(text)), ANSWER_MS);
    socket.on('data', (bytes) => {
      text += bytes.toString();
    });
    socket.on('close', () => finish(who(text)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      finish(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'dead' : who(text));
    });
  });
}

function who(text: string): Found {
  try {
    const said: unknown = JSON.parse(text);
    if (typeof said === 'object' && said !== null && 'pid' in said && 'host' in said && 'owns' in said) {
      return { who: `process ${String(said.pid)} on host ${String(said.host)}`, owns: said.owns === true };
    }
  } catch {
    // Another version, or it is too busy to answer.
  }
  return { who: 'a process that does not answer', owns: true };
}

async function forget(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

function release(own: Published, folder: FileHandle): DirectoryLock {
  own.says.owns = true;
  return {
    async release() {
      await withdraw(own);
      await folder.close();
    },
  };
}

/** Closing takes the name away too. */
async function withdraw({ server }: Published): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}
