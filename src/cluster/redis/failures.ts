/** What Redis and the network say when they fail, as errors of the store: what is wrong, and what to do. */
import { JournalError } from '../../local/journal/journal.js';
import { tlsText } from '../connections/tls-text.js';
import { storeError } from '../store/partition/failures.js';
import type { RedisAddress } from './address.js';

/** Of a connection that could not be opened. */
export function connectError(address: RedisAddress, error: unknown, deadline: number): JournalError {
  const { name } = address;
  const text = textOf(error);
  if (LOGIN.test(text)) return loginError(address, text, error);
  if (/DB index is out of range/.test(text)) {
    return storeError(
      'unfit',
      `${name} has no database ${address.database} (Redis has 0 to 15 unless "databases" says more)`,
      error,
    );
  }
  if (/^NOPERM/.test(text)) return rightError(address, text, error);
  if (/^(MASTERDOWN|LOADING)/.test(text)) return storeError('io', `${name} is not ready: ${text}`, error);
  return storeError('io', `${name} cannot be reached: ${reasonOf(address, error, text, deadline)}`, error);
}

const LOST = /Disconnects client|Socket closed|client is (closed|offline)|ECONNRESET|EPIPE/i;
const LOGIN = /^(WRONGPASS|NOAUTH)|without any password configured|invalid password/i;

function loginError({ name }: RedisAddress, text: string, cause: unknown): JournalError {
  const what = /without any password/.test(text)
    ? 'has no password, and one is given'
    : /^NOAUTH/.test(text)
      ? 'wants a password, and none is given'
      : 'refuses user or password';
  return storeError('unfit', `${name} ${what} (put them into the address: redis://USER:PASSWORD@HOST)`, cause);
}

function reasonOf(address: RedisAddress, error: unknown, text: string, deadline: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no machine is known as ${address.host}`;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (/^ERR_SSL|^ERR_TLS|CERT|SELF_SIGNED|EPROTO/.test(code)) {
    return tlsText(code, text, 'rediss:// is for a port with TLS; ');
  }
  if (/^Connection timeout$|client is closed/i.test(text)) {
    return `no answer within ${deadline} ms (${address.tls ? 'is it a port with TLS?' : 'a port with TLS wants rediss://'})`;
  }
  if (LOST.test(text + code)) {
    return `it closed the connection (${address.tls ? 'is it a port with TLS?' : 'a port with TLS wants rediss://'})`;
  }
  return text;
}

interface Failure {
  readonly error: JournalError;
  /** The connection is of no use any more. */
  readonly isOver: boolean;
}

/** Of a request that failed. */
export function replyError(address: RedisAddress, error: unknown): Failure {
  if (error instanceof JournalError) return { error, isOver: false };
  const { name } = address;
  const text = textOf(error);
  if (/^OOM/.test(text) || /\bOOM command not allowed/.test(text)) {
    return { error: storeError('full', `${name} has reached its maxmemory`, error), isOver: false };
  }
  if (/^(READONLY|MASTERDOWN|UNBLOCKED)/.test(text) || /^-?READONLY/.test(text)) {
    return { error: storeError('io', `${name} has become a replica, which takes no writes`, error), isOver: true };
  }
  if (/^NOREPLICAS/.test(text)) {
    return {
      error: storeError('io', `${name} has fewer replicas than its min-replicas-to-write`, error),
      isOver: false,
    };
  }
  if (LOGIN.test(text)) return { error: loginError(address, text, error), isOver: true };
  if (/^NOPERM|can't run this command|No permissions/i.test(text)) {
    return { error: rightError(address, text, error), isOver: false };
  }
  if (/^CLUSTERDOWN/.test(text)) {
    const what = `${name} takes nothing: ${text} (a master without a replica is gone and cluster-require-full-coverage is yes, or this node is cut off from most masters)`;
    return { error: storeError('io', what, error), isOver: false };
  }
  if (/^MISCONF/.test(text)) {
    return {
      error: storeError('full', `${name} cannot write its own file, and takes no writes: ${text}`, error),
      isOver: false,
    };
  }
  if (LOST.test(text)) return { error: storeError('io', `the connection to ${name} was lost`, error), isOver: true };
  return { error: storeError('io', `asking ${name} failed: ${text}`, error), isOver: false };
}

export function isNoScript(error: unknown): boolean {
  return error instanceof JournalError && textOf(error.cause).startsWith('NOSCRIPT');
}

function rightError({ name, username }: RedisAddress, text: string, cause: unknown): JournalError {
  const user = username ?? 'default';
  const command = text.match(/run the '([^']+)' command/)?.[1];
  const what =
    command !== undefined
      ? `may not run ${command.toUpperCase()} (ACL SETUSER ${user} +${command})`
      : /\bkeys?\b/.test(text)
        ? `may not use the keys of the cluster (ACL SETUSER ${user} ~{keyturn.* ~keyturn:*, with the name of the cluster)`
        : `is refused: ${text}`;
  return storeError('unfit', `the user ${user} of ${name} ${what}`, cause);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
