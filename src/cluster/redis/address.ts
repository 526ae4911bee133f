/** What `store` and `registry` say of a Redis, taken apart. */
import { storeError } from '../store/partition/failures.js';

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** For people: without user and password. */
  readonly name: string;
}

const SCHEMES: ReadonlyMap<string, boolean> = new Map([
  ['redis:', false],
  ['rediss:', true],
]);
const PORT = 6_379;
const FORM = 'redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS';

/** @throws JournalError `unfit`. No text has a password in it. */
export function redisAddress(url: string): RedisAddress {
  const { parsed, tls } = parse(url);
  const { hostname, port, username, password, pathname, search, hash } = parsed;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === '') throw storeError('unfit', `the address of a Redis names no host; it has the form ${FORM}`);
  const name = `${parsed.protocol}//${hostname}:${port === '' ? PORT : port}${pathname}`;
  if (search !== '' || hash !== '') {
    throw storeError('unfit', `${name} is followed by ${(search + hash).slice(0, 1)}…; it has the form ${FORM}`);
  }
  const database = pathname === '' || pathname === '/' ? '0' : pathname.slice(1);
  if (!/^\d{1,5}$/.test(database)) {
    throw storeError('unfit', `${name} names the database ${JSON.stringify(database)}; it is a number from 0`);
  }
  return {
    host,
    port: port === '' ? PORT : Number(port),
    tls,
    username: username === '' ? undefined : decoded(username, name),
    password: password === '' ? undefined : decoded(password, name),
    database: Number(database),
    name,
  };
}

function parse(url: string): { readonly parsed: URL; readonly tls: boolean } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const tls = parsed && SCHEMES.get(parsed.protocol);
  // Not the address itself, which may have a password in it.
  if (parsed === undefined || tls === undefined) {
    throw storeError('unfit', `the address of a Redis has the form ${FORM}; this one has not`);
  }
  return { parsed, tls };
}

function decoded(part: string, name: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw storeError('unfit', `user or password of ${name} has a % that begins no escape; write %25`);
  }
}
