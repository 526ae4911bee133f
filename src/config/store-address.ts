/** Where a cluster keeps what it has: `store` and `registry`. A password in it is never shown. */
import { decoded, type EngineForm, engineAddress, HIDDEN } from '../cluster/address/engine-address.js';
import { REGISTRY_FORMS, STORE_FORMS } from '../cluster/address/forms.js';
import { type At, type Kind, refuse } from './kinds.js';
import { showText, type Written } from './written.js';

/** An address that hides who may use it: from printing, from logs, from JSON. */
export class StoreAddress {
  readonly #url: string;

  /** @param shown without user and password */
  constructor(
    url: string,
    readonly shown: string,
  ) {
    this.#url = url;
  }

  /** With user and password: for the one who connects. */
  get url(): string {
    return this.#url;
  }

  toString(): string {
    return this.shown;
  }

  toJSON(): string {
    return this.shown;
  }
}

const REDIS = 'redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS';
const LONGEST = 2_048;

/** Of `store`. Unset: `memory`. */
export const storeAddress = addressKind('memory', STORE_FORMS);
/** Of `registry`. Unset: `store`, where everything else is. */
export const registryAddress = addressKind('store', [...STORE_FORMS, ...REGISTRY_FORMS]);

function addressKind(word: string, forms: readonly EngineForm[]): Kind<StoreAddress | undefined> {
  const allowed = [word, REDIS, ...forms.map(({ form }) => form)].join(', or ');
  return {
    allowed,
    read(written, at, inherited) {
      if (written.kind !== 'scalar' || typeof written.value !== 'string') {
        refuse(written, at, allowed);
        return inherited;
      }
      if (written.value === word) return undefined;
      const read = readAddress(written.value, forms);
      if (read instanceof StoreAddress) return read;
      tell(written, at, written.value, read, allowed);
      return inherited;
    },
    // What is hidden is refused when it is read again: then somebody has to say it.
    write: (address) => address?.shown ?? word,
  };
}

/** The value itself is never told: what is wrong with it may be in the midst of a password. */
function tell({ place }: Written, at: At, text: string, why: string, allowed: string): void {
  at.problems.add(at.path, place, `is ${showText(withoutSecrets(text))}, ${why}; must be ${allowed}`);
}

/** @returns a text: why it cannot be used */
function readAddress(text: string, forms: readonly EngineForm[]): StoreAddress | string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== 'redis' && scheme !== 'rediss') {
    if (!forms.some(({ schemes }) => schemes.includes(scheme ?? ''))) return 'which is no address of a store';
    const address = engineAddress(text, forms);
    if (typeof address === 'string') return address;
    const { username, password } = address;
    return new StoreAddress(text, username === undefined && password === undefined ? text : withoutSecrets(text));
  }
  if (text.length > LONGEST) return `which is longer than ${LONGEST} characters`;
  if (!URL.canParse(text))
    return 'which is no URL: what is special in a user or password is written as %40 for @, %2F for /';
  const url = new URL(text);
  const wrong = wrongIn(url);
  return wrong ?? new StoreAddress(text, url.username + url.password === '' ? text : withoutSecrets(text));
}

function wrongIn({ hostname, port, pathname, search, hash, username, password }: URL): string | undefined {
  if (hostname === '') return 'which names no host';
  if (port === '0') return 'and nobody listens on port 0';
  if (search + hash !== '') return 'and nothing may follow the number of the database';
  if (!/^(\/\d{0,5})?$/.test(pathname)) return 'and a database is a number from 0';
  if (username === HIDDEN || password === HIDDEN)
    return `where ${HIDDEN} stands for a user and password that were not printed; KEYTURN_STORE can say the whole address`;
  return decoded(username) !== undefined && decoded(password) !== undefined
    ? undefined
    : 'where a % begins no escape: % itself is %25';
}

/** Of an address in whatever form: what may be a user or password, and what follows a `?`. */
function withoutSecrets(text: string): string {
  const query = text.search(/[?#]/);
  const end = query < 0 ? text : `${text.slice(0, query + 1)}…`;
  const at = text.lastIndexOf('@');
  if (at < 0) return withoutOdd(end);
  const begin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? '';
  const host = query < 0 || at > query ? text.slice(at).replace(/[?#].*/s, '?…') : end.slice(at);
  return `${begin}${HIDDEN}${host}`;
}

/** Behind a colon stands a port, or what somebody took for the place of a password. */
function withoutOdd(text: string): string {
  const [begin = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?(\[[^\]]*\]|[^:]*)/i.exec(text) ?? [];
  const rest = text.slice(begin.length);
  return rest === '' || /^:\d{1,5}(\/|$)/.test(rest) ? text : `${begin}:…`;
}
