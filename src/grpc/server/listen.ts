/** The addresses a server listens on: TCP, and Unix sockets with what their files need. */
import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** Others of the group may use the sidecar; connecting needs the right to write. */
const SOCKET_MODE = 0o660;
const UNIX = 'unix:';
const HIGHEST_PORT = 65_535;
const HOST_AND_PORT = /^(?<host>\[[0-9A-Fa-f:.%a-z]+\]|[^:[\]/\s]+):(?<port>\d{1,5})$/;

/** Throws when the address has neither form. */
export function parseListen(listen: string): ListenAddress {
  if (listen.startsWith(UNIX)) {
    const path = listen.slice(UNIX.length).replace(/^\/\/(?=\/)/, '');
    if (path !== '') return { kind: 'unix', path };
  }
  const { host, port } = HOST_AND_PORT.exec(listen)?.groups ?? {};
  if (host !== undefined && Number(port) <= HIGHEST_PORT) return { kind: 'tcp', host, port: Number(port) };
  throw new Error(`cannot listen on "${listen}"; allowed: host:port, [v6]:port or unix:/path`);
}

/** What grpc-js binds, and, with the real port, what a client connects to. */
export function targetOf(address: ListenAddress, port: number): string {
  return address.kind === 'unix' ? `${UNIX}${address.path}` : `${address.host}:${port}`;
}

/**
 * Removes the socket that a killed server left behind. Only a socket on which no process answers is removed: the path may be
 * another file by mistake, or the socket of a sidecar that runs.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(unlessMissing);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`cannot listen on unix:${path}: it exists and is not a socket`);
  if (await answers(path)) throw new Error(`cannot listen on unix:${path}: another process listens there`);
  await unlink(path).catch(unlessMissing);
}

export async function openToGroup(path: string): Promise<void> {
  await chmod(path, SOCKET_MODE);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(new Error(`cannot listen on unix:${path}: ${error.message}`));
    });
  });
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
