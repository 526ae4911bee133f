/** Addresses of the engines of which people run several machines: `scheme://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/PATH][?OPTIONS]`. */

export interface EngineHost {
  readonly host: string;
  readonly port: number;
}

/** An address, taken apart. What is encoded in it is decoded. */
export interface EngineAddress {
  readonly scheme: string;
  /** At least one, at most {@link MOST_HOSTS}. */
  readonly hosts: readonly EngineHost[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Behind the hosts, without the first slash; empty: nothing stands there. */
  readonly path: string;
  readonly options: ReadonlyMap<string, string>;
  /** For people: without user and password, every host with its port. */
  readonly name: string;
}

/** What an address of one engine may be. */
export interface EngineForm {
  readonly schemes: readonly string[];
  /** For people. */
  readonly form: string;
  /** Of a host that names none. */
  readonly port: number;
  /** Unset: one host only. */
  readonly several?: true;
  /** What may stand behind the hosts, without the first slash; and in words. */
  readonly path: RegExp;
  readonly pathText: string;
  /** What may be said behind a `?`, and its values. */
  readonly options?: Readonly<Record<string, readonly string[]>>;
  /** An address of this engine has no password, as the engine knows none of this form. */
  readonly anonymous?: true;
}

/** One of its hosts, for people, and for those who connect by a text. */
export function hostName({ host, port }: EngineHost): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const MOST_HOSTS = 16;
const LONGEST = 2_048;
/** Behind the hosts no @ stands as it is: before it is what somebody took for a password, and a slash in that ended the hosts. */
const PARTS = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#@]*))?(?:\?([^#]*))?$/i;
const USER = /^([^:]*)(?::(.*))?$/s;
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^[\]:\s]+))(?::(\d{1,5}))?$/i;

/** @returns a text: what is wrong, as the end of a sentence, with nothing of user or password in it */
export function engineAddress(text: string, forms: readonly EngineForm[]): EngineAddress | string {
  if (text.length > LONGEST) return `which is longer than ${LONGEST} characters`;
  const [whole, scheme = '', user, authority = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  if (whole === undefined)
    return 'which is no URL: what is special in a user or password is written as %40 for @, %2F for /';
  const form = forms.find(({ schemes }) => schemes.includes(scheme.toLowerCase()));
  if (form === undefined) return 'which is no address of a store';
  const hosts = hostsIn(authority, form);
  if (typeof hosts === 'string') return hosts;
  const login = loginIn(user, form);
  if (typeof login === 'string') return login;
  const decodedPath = decoded(path);
  if (decodedPath === undefined || !form.path.test(decodedPath)) return `and ${form.pathText}`;
  const options = optionsIn(query, form);
  if (typeof options === 'string') return options;
  const list = hosts.map(hostName).join(',');
  const name = `${scheme.toLowerCase()}://${list}${path === '' ? '' : `/${path}`}`;
  return { scheme: scheme.toLowerCase(), hosts, ...login, path: decodedPath, options, name };
}

function hostsIn(authority: string, { port: usual, several, form }: EngineForm): readonly EngineHost[] | string {
  const words = authority.split(',');
  if (authority === '' || words.includes('')) return 'which names no host';
  if (words.length > 1 && several === undefined) return `and it has one host: ${form}`;
  if (words.length > MOST_HOSTS) return `and ${MOST_HOSTS} hosts are enough`;
  const hosts: EngineHost[] = [];
  for (const word of words) {
    const [match, six, name, said] = HOST.exec(word) ?? [];
    if (match === undefined) return 'where one of the hosts is none: HOST, HOST:PORT or [IPv6]:PORT';
    const port = said === undefined ? usual : Number(said);
    if (port === 0 || port > 65_535) return `and nobody listens on port ${port}`;
    hosts.push({ host: six ?? name ?? '', port });
  }
  return hosts;
}

type Login = Pick<EngineAddress, 'username' | 'password'>;

function loginIn(user: string | undefined, { anonymous }: EngineForm): Login | string {
  if (user === undefined) return { username: undefined, password: undefined };
  if (anonymous !== undefined) return 'and nobody logs in there by a user in the address';
  const [, name = '', password] = USER.exec(user) ?? [];
  if (name === HIDDEN || password === HIDDEN)
    return `where ${HIDDEN} stands for a user and password that were not printed; KEYTURN_STORE can say the whole address`;
  const [plainName, plainPassword] = [decoded(name), password === undefined ? '' : decoded(password)];
  if (plainName === undefined || plainPassword === undefined) return 'where a % begins no escape: % itself is %25';
  return { username: plainName || undefined, password: plainPassword || undefined };
}

function optionsIn(query: string, { options = {} }: EngineForm): ReadonlyMap<string, string> | string {
  const known = Object.keys(options);
  const found = new Map<string, string>();
  if (query === '') return found;
  for (const [name, value] of new URLSearchParams(query)) {
    const allowed = options[name];
    // Not what was written: it may be a password.
    if (allowed === undefined)
      return known.length === 0
        ? 'and nothing may follow it behind a ?'
        : `and behind a ? only ${known.join(', ')} may be said`;
    if (found.has(name)) return `and ${name} is said twice`;
    if (!allowed.includes(value)) return `and ${name} is one of ${allowed.join(', ')}`;
    found.set(name, value);
  }
  return found;
}

/** In the place of user and password, where an address is shown. */
export const HIDDEN = '***';

/** @returns undefined: a `%` in it begins no escape */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
