/** Whether a PostgreSQL can be used: looked at on every new connection. */
import { storeError } from '../store/partition/failures.js';
import { type PostgresConnection, SESSION_MARK } from './connection.js';
import { standbysIn } from './standbys.js';
import { Statement } from './statement.js';

interface ServerFacts {
  /** Of the server and of all that follow it, and no other's. */
  readonly system: string;
  /** It grows with each standby that takes over; 0: it is a standby. */
  readonly timeline: number;
  /** It takes no writes: it follows another one. */
  readonly isStandby: boolean;
  /** How many standbys have what is committed before that is answered. */
  readonly waitsFor: number;
}

/** Those before are not kept any more by who makes PostgreSQL. */
const OLDEST = 14;

/** What a session asks for at its start, which a pooler may drop (`ignore_startup_parameters` of PgBouncer). */
const MARK = new Statement('mark', `SELECT current_setting('${SESSION_MARK}', true)`);

/** Since PostgreSQL 17; servers before have no such setting. It would end a commit that waits for a standby. */
const NO_TRANSACTION_TIMEOUT = new Statement(
  'transaction_timeout',
  `SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`,
);

/** The time line is that of what is written now: it grows with each standby that becomes the primary. */
const LOOK = new Statement(
  'server',
  `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  (SELECT system_identifier::text FROM pg_control_system()),
  CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END`,
);
const SET = {
  local: new Statement('local', 'SET synchronous_commit = local'),
  on: new Statement('on', 'SET synchronous_commit = on'),
} as const;

/**
 * @param replicas so many standbys have to have what is committed; `auto`: as many as the server says
 * @throws JournalError `unfit`, or `io`
 */
export async function checkServer(
  name: string,
  connection: PostgresConnection,
  replicas: number | 'auto',
  deadline: number,
): Promise<ServerFacts> {
  const [[mark] = []] = await MARK.run(connection, [], deadline);
  if (mark !== 'on')
    throw storeError(
      'unfit',
      `${name} does not give a session the settings that it asks for, which a pooler does (PgBouncer with ignore_startup_parameters = options); use the address of PostgreSQL itself`,
    );
  await NO_TRANSACTION_TIMEOUT.run(connection, [], deadline);
  const [row = []] = await LOOK.run(connection, [], deadline);
  const [version, isStandby, fsync, fullPages, commit, standbys, system, timeline] = row;
  if (!(Number(version) >= OLDEST * 10_000))
    throw storeError(
      'unfit',
      `${name} is PostgreSQL ${Math.floor(Number(version) / 10_000)}; it has to be ${OLDEST} or newer`,
    );
  for (const [setting, value] of [
    ['fsync', fsync],
    ['full_page_writes', fullPages],
  ])
    if (value !== 'on')
      throw storeError(
        'unfit',
        `${name} has ${setting} = ${value}, with which it loses what was answered when its machine fails; it has to be on`,
      );
  const named = standbysIn(String(standbys));
  if (replicas !== 'auto' && replicas > named)
    throw storeError(
      'unfit',
      `cluster.replicas is ${replicas}, but synchronous_standby_names of ${name} waits for ${named}; say ANY ${replicas} (…) there, or replicas: auto`,
    );
  if (replicas === 0) await SET.local.run(connection, [], deadline);
  else if (commit === 'off' || (replicas !== 'auto' && commit === 'local')) await SET.on.run(connection, [], deadline);
  return {
    system: String(system),
    timeline: Number.parseInt(`0${String(timeline)}`, 16),
    isStandby: isStandby === true,
    waitsFor: replicas === 0 || (replicas === 'auto' && commit === 'local') ? 0 : named,
  };
}
