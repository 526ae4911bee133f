/** What PostgreSQL and the network say when they fail, as errors of the store: what is wrong, and what to do. */
import { JournalError } from '../../local/journal/journal.js';
import { type EngineHost, hostName } from '../address/engine-address.js';
import { tlsText } from '../connections/tls-text.js';
import { storeError } from '../store/partition/failures.js';
import type { PostgresAddress } from './address.js';

/** How it can be that a table is not there, or may not be used. */
export const MIGRATE = 'keyturn store migrate --store ADDRESS --grant USER, with the address of a user who may';

/** Of a connection that could not be opened. */
export function connectError(
  { user, database, tls }: PostgresAddress,
  at: EngineHost,
  late: string | undefined,
  error: unknown,
): JournalError {
  const server = `PostgreSQL at ${hostName(at)}`;
  if (late !== undefined) return storeError('io', `${server} cannot be reached: ${late}`, error);
  const [text, code] = [textOf(error), codeOf(error)];
  if (code === '28P01' || /SASL|SCRAM|password must be/i.test(text))
    return storeError(
      'unfit',
      `${server} refuses the user ${user} or the password (put them into the address: postgres://USER:PASSWORD@HOST/DATABASE)`,
      error,
    );
  if (code === '28000' && routineOf(error) === NO_ROLE)
    return storeError(
      'unfit',
      `${server} lets the user ${user} not in: ${text} (createuser makes one; the address names the user: postgres://USER:PASSWORD@HOST/DATABASE)`,
      error,
    );
  if (code === '28000')
    return storeError(
      'unfit',
      `${server} lets the user ${user} not into ${database} (its pg_hba.conf says who may; sslmode is ${tls}): ${text}`,
      error,
    );
  if (code === '3D000') return storeError('unfit', `${server} has no database ${JSON.stringify(database)}`, error);
  if (code === '42501') return storeError('unfit', `${server}: ${text}`, error);
  if (/Unknown authenticationOk message/.test(text))
    return storeError(
      'unfit',
      `${server} wants a way to log in that this version does not know, as GSSAPI or SSPI (its pg_hba.conf says which for ${user}: scram-sha-256 is known)`,
      error,
    );
  if (/does not support SSL/.test(text))
    return storeError(
      'unfit',
      `${server} does not speak TLS, and sslmode is ${tls} (sslmode=disable goes without)`,
      error,
    );
  if (code === '08P01') return storeError('unfit', `${server} does not take the options of a session: ${text}`, error);
  return storeError('io', `${server} cannot be reached: ${reasonOf(at, code, text)}`, error);
}

function reasonOf({ host }: EngineHost, code: string, text: string): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no machine is known as ${host}`;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === '57P03') return `it is not ready: ${text}`;
  if (code === '53300') return `it lets nobody more in: ${text} (max_connections, or the limit of a role or database)`;
  if (/^ERR_SSL|^ERR_TLS|CERT|SELF_SIGNED|EPROTO|UNABLE_TO/.test(code)) return tlsText(code, text);
  return LOST.test(text + code) ? 'it closed the connection' : text;
}

interface Failure {
  readonly error: JournalError;
  /** The connection is of no use any more. */
  readonly isOver: boolean;
}

/** A role that is to get rights, for one. */
const UNDEFINED_OBJECT = '42704';
const LOST = /Connection terminated|not queryable|ECONNRESET|EPIPE|client was closed/i;

/** Of a statement that failed. */
export function replyError({ name, user }: Pick<PostgresAddress, 'name' | 'user'>, error: unknown): Failure {
  if (error instanceof JournalError) return { error, isOver: false };
  const [text, code] = [textOf(error), codeOf(error)];
  const told = (problem: 'full' | 'io' | 'unfit', what: string, isOver = false): Failure => ({
    error: storeError(problem, what, error),
    isOver,
  });
  if (code === '53100') return told('full', `${name} has no room on its disk`);
  if (code === '25006') return told('io', `${name} has become a standby, which takes no writes`, true);
  if (code === '42P01' || code === '3F000' || code === '42703')
    return { error: new JournalError('unfit', `${name} ${withoutTables(text)}`, { cause: error }), isOver: false };
  if (code === '42501')
    return told(
      'unfit',
      `the user ${user} of ${name} may not do what a sidecar does: ${text} (${MIGRATE} grant it, grants it)`,
    );
  if (code === UNDEFINED_OBJECT)
    return told('unfit', `${name} does not know a name: ${text} (createuser makes a role)`);
  if (code.startsWith('57P') || code.startsWith('08')) return told('io', `${name} ended the connection: ${text}`, true);
  if (code === '40001' || code === '40P01' || code === '55P03' || code === '25P03')
    return told('io', `${name} gave a transaction up: ${text}`, code === '25P03');
  if (LOST.test(text + code)) return told('io', `the connection to ${name} was lost`, true);
  // A statement that failed in a transaction may leave it open: whoever uses the connection next would be in it.
  return told('io', `asking ${name} failed: ${text}`, true);
}

/** Sidecars that live may have the only copy of what was in them: another store would throw it away. */
function withoutTables(text: string): string {
  const back =
    'bring back a backup, or "keyturn cluster restore all" writes back what live sidecars keep: end none of them';
  return `has not the tables of this version (${text}); ${MIGRATE} make them, makes them again; then ${back}`;
}

/** Where PostgreSQL looks up the role of a session: texts may be in any language. */
const NO_ROLE = 'InitializeSessionUserId';

function routineOf(error: unknown): unknown {
  return error instanceof Error && 'routine' in error ? error.routine : undefined;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** An error of several attempts (IPv4 and IPv6) has no text of its own. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(textOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
