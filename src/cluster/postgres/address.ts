/** What `store` and `registry` say of a PostgreSQL, taken apart. */
import { type EngineHost, engineAddress } from '../address/engine-address.js';
import { STORE_FORMS } from '../address/forms.js';
import { storeError } from '../store/partition/failures.js';

export interface PostgresAddress {
  /** Several: a primary and its standbys, in whatever order. */
  readonly hosts: readonly EngineHost[];
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** `require`: whoever answers may be anybody. `verify-full`: a certificate of that host by an authority that is trusted. */
  readonly tls: 'disable' | 'require' | 'verify-full';
  /** For people: without user and password. */
  readonly name: string;
}

/** Of an address that names none. */
const USER = 'keyturn';

/** @throws JournalError `unfit`. No text has a password in it. */
export function postgresAddress(url: string): PostgresAddress {
  const address = engineAddress(url, STORE_FORMS);
  if (typeof address === 'string') throw storeError('unfit', `the address of the store is one ${address}`);
  const { hosts, username, password, path, options, name } = address;
  const said = options.get('sslmode');
  const tls = said === 'require' || said === 'verify-full' ? said : 'disable';
  return { hosts, user: username ?? USER, password, database: path, tls, name };
}
