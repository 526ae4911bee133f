import { Buffer } from 'node:buffer';
import { isIP, Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import type { Clock } from '../../local/clock.js';
import type { EngineHost } from '../address/engine-address.js';
import type { Connection } from '../connections/pool.js';
import { storeError } from '../store/partition/failures.js';
import type { PostgresAddress } from './address.js';
import { connectError, replyError } from './failures.js';
import { guardStream } from './guarded-stream.js';
import type { Answer, Statement, Value } from './statement.js';

/** With the first connection: most sidecars need none. */
const loadLibrary = () => import('pg');

/** How a connection behaves. */
export interface Patience {
  /** A statement has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  readonly clock: Clock;
}

interface Warning {
  readonly code: string;
  readonly message: string;
}

/** The class of all warnings. */
const WARNINGS = '01';

/** Types of which values are not texts. */
const BOOL = 16;
const BYTEA = 17;
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 701]);

/** A setting of Keyturn alone: a session without it has not got what it asked for, whatever its own settings are. */
export const SESSION_MARK = 'keyturn.session';

/**
 * What holds for a session whatever the server, the database or the role says otherwise.
 *
 * - `statement_timeout`: none. A statement that is cancelled while it waits for a standby has been committed here alone.
 * - `client_min_messages`: that such a wait was cancelled is told as a warning and in no other way.
 * - Statements and transactions of a client that is gone end soon: they keep the guard of a partition from everybody, and a place
 *   from those who come.
 * - `transaction_timeout` is set later, by `server-check.ts`: a server before 17 refuses a session that asks for it.
 * - Plans: rows are found by their keys, whatever the statistics say of a table that was empty a moment ago.
 */
const SESSION = [
  'statement_timeout=0',
  'client_min_messages=warning',
  'idle_session_timeout=0',
  'idle_in_transaction_session_timeout=5000',
  'lock_timeout=5000',
  'client_connection_check_interval=2000',
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=3',
  'tcp_keepalives_count=3',
  'default_transaction_isolation=read\\ committed',
  'default_transaction_read_only=off',
  'search_path=pg_catalog',
  'bytea_output=hex',
  'extra_float_digits=1',
  'standard_conforming_strings=on',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  `${SESSION_MARK}=on`,
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

/**
 * One connection, for as long as it lasts: it is never opened again, and nothing is sent twice. One statement at a time. An
 * answer that does not come in time ends it: what is under way is unknown then.
 */
export class PostgresConnection implements Connection {
  #isOpen = true;
  onEnd: (() => void) | undefined;
  isSilent = false;
  /** What the server said beside the statement under way. */
  #warning: Warning | undefined;

  private constructor(
    private readonly client: InstanceType<Awaited<ReturnType<typeof loadLibrary>>['Client']>,
    private readonly socket: Socket,
    private readonly address: PostgresAddress,
    private readonly patience: Patience,
  ) {
    client.on('end', () => this.destroy());
    socket.on('close', () => this.destroy());
    // A wait for a standby that somebody cancels ends with this alone: it looks like a commit that all have.
    client.on('notice', ({ code = '', message }) => {
      if (code.startsWith(WARNINGS)) this.#warning = { code, message: message ?? '' };
    });
  }

  /** @throws JournalError that says what is wrong: unreachable, password, database, TLS */
  static async open(
    address: PostgresAddress,
    host: EngineHost,
    patience: Patience,
    deadline = patience.deadline,
  ): Promise<PostgresConnection> {
    const { Client } = await loadLibrary();
    const socket = new Socket();
    const client = new Client(configOf(address, host, socket));
    // Errors are told by what was asked; without a listener they would end the process.
    client.on('error', () => undefined);
    socket.on('error', () => undefined);
    guardStream(socket);
    client.connection.on('sslconnect', () => guardStream(client.connection.stream));
    let isLate = false;
    let callOff = () => {};
    // The library knows no way to give up a connection that is being made.
    const late = new Promise<never>((_, reject) => {
      callOff = patience.clock.after(deadline, () => {
        isLate = true;
        reject(new Error(LATE));
      });
    });
    try {
      await Promise.race([client.connect(), late]);
      return new PostgresConnection(client, socket, address, patience);
    } catch (error) {
      socket.destroy();
      throw connectError(address, host, isLate ? `no answer within ${deadline} ms` : undefined, error);
    } finally {
      callOff();
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @returns the rows. @throws JournalError; `io`: it is not known whether it was done */
  async ask({ name, text }: Statement, values: readonly Value[], deadline?: number): Promise<Answer> {
    const query = { name, text, values: [...values], rowMode: 'array' } as const;
    const { rows } = await this.#answer(() => this.client.query<unknown[]>(query), deadline, true);
    return rows;
  }

  /**
   * Several statements without values, as people write them.
   * @returns the last warning; unset: there was none. @throws JournalError
   */
  async script(text: string, deadline?: number): Promise<Warning | undefined> {
    await this.#answer(() => this.client.query(text), deadline, false);
    return this.#warning;
  }

  /** @param isBad whether a warning is a failure of which nothing is known */
  #answer<T>(ask: () => Promise<T>, deadline = this.patience.deadline, isBad: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      const callOff = this.patience.clock.after(deadline, () => {
        reject(storeError('io', `${this.address.name} did not answer within ${deadline} ms`));
        this.isSilent = true;
        this.destroy();
      });
      const fail = (error: unknown) => {
        callOff();
        const failure = replyError(this.address, error);
        if (failure.isOver) this.destroy();
        reject(failure.error);
      };
      if (!this.#isOpen) return fail(new Error('Connection terminated'));
      this.#warning = undefined;
      ask().then((answer) => {
        const warning = this.#warning;
        if (isBad && warning !== undefined) {
          fail(storeError('io', `${this.address.name} warns: ${warning.message}`));
          return this.destroy();
        }
        callOff();
        resolve(answer);
      }, fail);
    });
  }

  destroy(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.socket.destroy();
    this.onEnd?.();
  }
}

const LATE = 'late';

/** Everything is said: what is not would be taken from variables and files of whoever runs the process. */
function configOf({ user, password, database, tls }: PostgresAddress, { host, port }: EngineHost, socket: Socket) {
  const ssl = { rejectUnauthorized: tls === 'verify-full', ...(isIP(host) === 0 ? { servername: host } : {}) };
  return {
    host,
    port,
    user,
    database,
    // A function: a password that is not given is looked for nowhere.
    password: () => password ?? '',
    ssl: tls === 'disable' ? false : ssl,
    stream: () => socket,
    options: SESSION,
    application_name: 'keyturn',
    client_encoding: 'UTF8',
    keepAlive: true,
    connectionTimeoutMillis: 0,
    types: { getTypeParser: parserOf },
  } satisfies ClientConfig;
}

function parserOf(type: number): (text: string) => unknown {
  if (NUMBERS.has(type)) return Number;
  if (type === BYTEA) return bytesOf;
  return type === BOOL ? (text) => text === 't' : (text) => text;
}

/** `\x` and two digits for each byte. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}
