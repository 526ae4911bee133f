/** What ZooKeeper and the network say when they fail. */
import { JournalError } from '../../local/journal/journal.js';
import { storeError } from '../store/partition/failures.js';

/** The codes that somebody looks at. */
export const CODE = {
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  sessionExpired: -112,
  authFailed: -115,
  sessionMoved: -118,
} as const;

const TEXTS: Readonly<Record<number, string>> = {
  [-1]: 'an error of the server',
  [-5]: 'it did not understand the request',
  [-6]: 'it does not know the request',
  [-8]: 'it takes the arguments for wrong',
  [CODE.noNode]: 'there is no such node',
  [CODE.badVersion]: 'the node has another version',
  [-108]: 'the node can have no others below it',
  [CODE.nodeExists]: 'the node is there already',
  [CODE.sessionExpired]: 'the session is over',
  [-114]: 'the rights of the node are wrong',
  [-119]: 'the server only reads',
  [-122]: 'the server gave up waiting',
  [-125]: 'a quota of its nodes is reached',
  [-127]: 'the server has too much to do',
};

/** The server did not do it, and says why. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';

  constructor(
    readonly code: number,
    readonly what: string,
  ) {
    super(`${what}: ${TEXTS[code] ?? 'refused'} (${code})`);
  }
}

export function isCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperError && codes.includes(error.code);
}

/** It cannot be used as it is. */
export function unfit(what: string, cause?: unknown): JournalError {
  const toDo = 'change that there, or name another registry: --registry, KEYTURN_REGISTRY or registry';
  return new JournalError('unfit', `${what}; ${toDo}`, cause === undefined ? {} : { cause });
}

/** Who was asked, and as whom. */
interface Asked {
  readonly name: string;
  readonly user: string | undefined;
}

/** An error of whatever kind, as one of the registry. */
export function asJournalError({ name, user }: Asked, error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  if (isCode(error, CODE.noAuth) && error instanceof ZooKeeperError) return rightError(name, user, error);
  if (isCode(error, CODE.authFailed)) return unfit(`${name} lets nobody log in by digest`, error);
  return storeError('io', `asking ${name} failed: ${error instanceof Error ? error.message : String(error)}`, error);
}

function rightError(name: string, user: string | undefined, error: ZooKeeperError): JournalError {
  const who = user === undefined ? 'who does not log in' : `the user ${user} with this password`;
  const how =
    user === undefined ? 'zookeeper://USER:PASSWORD@HOST names one' : `zkCli.sh: addauth digest ${user}:…, setAcl`;
  return unfit(`${name} does not let ${who} do this: ${error.what} (getAcl says who may; ${how})`, error);
}

/** Of a connection that could not be opened. */
export function connectText(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'no machine is known by this name';
  return error instanceof Error ? error.message : String(error);
}
