/** The files of access control: tokens, and keys of signed tokens. Read at the start, and again when they change. */
import { readFileSync } from 'node:fs';
import type { Secrets } from '../access/authenticator.js';
import { JwtVerifier, parseKeys } from '../access/jwt.js';
import type { AccessSettings, KnownToken } from '../access/settings.js';
import { Tokens } from '../access/tokens.js';
import { principalName } from './access-settings.js';
import { readConfigFile } from './file.js';
import { type At, type Kind, optional, refuse, scalar } from './kinds.js';
import { ConfigError, Problems } from './problem.js';
import { type Group, readGroup, under, uniqueEntries } from './settings-table.js';
import { entryOf, type Written } from './written.js';

const MOST_TOKENS = 10_000;
const MOST_KEY_BYTES = 1_048_576;

type Entry = Omit<KnownToken, 'name'>;

const sha256: Kind<string> = scalar({
  allowed: 'the SHA-256 of the token, 64 hexadecimal digits, as "keyturn token new NAME" prints it',
  parse: (value) => (typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value) ? value.toLowerCase() : undefined),
  write: (value) => value,
});

/** YAML has no dates here: they are texts. */
const instant: Kind<number> = scalar({
  allowed: 'an instant, as 2027-01-31 or 2027-01-31T12:00:00Z',
  parse(value) {
    if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(value))
      return undefined;
    const at = Date.parse(value);
    return Number.isNaN(at) ? undefined : at;
  },
  write: (value) => new Date(value).toISOString(),
});

const TOKEN: Group<Entry> = {
  refusals: {},
  table: {
    sha256: { kind: sha256, doc: 'Of the token.' },
    until: { kind: optional(instant, 'none', 0), doc: 'From then on it is accepted no more.' },
  },
};

/** @throws ConfigError naming every wrong line */
export function readSecrets(settings: AccessSettings): Secrets {
  const problems = new Problems();
  const tokens = settings.tokens === undefined ? [] : readTokens(settings.tokens, problems);
  const keys = settings.jwt && readKeys(settings.jwt.keys, problems);
  problems.throwIfAny();
  const jwt = settings.jwt && keys && new JwtVerifier(settings.jwt, keys);
  return { tokens: new Tokens(tokens), jwt };
}

interface Reread {
  readonly secrets: Secrets;
  /** What is wrong, of each file that cannot be used. */
  readonly wrong: readonly { readonly path: string; readonly reason: string }[];
}

/** Each file stands for itself: where one cannot be used what was read of it before counts, and the other one is replaced. */
export function rereadSecrets({ tokens, jwt }: AccessSettings, before: Secrets): Reread {
  const wrong: { path: string; reason: string }[] = [];
  const again = <T>(path: string, read: (problems: Problems) => T): T | undefined => {
    const problems = new Problems();
    const found = read(problems);
    try {
      problems.throwIfAny();
      return found;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      wrong.push({ path, reason: error.message });
      return undefined;
    }
  };
  const known =
    tokens === undefined ? undefined : again(tokens, (problems) => new Tokens(readTokens(tokens, problems)));
  const keys = jwt && again(jwt.keys, (problems) => readKeys(jwt.keys, problems));
  const secrets = { tokens: known ?? before.tokens, jwt: jwt && keys ? new JwtVerifier(jwt, keys) : before.jwt };
  return { secrets, wrong };
}

function readTokens(path: string, problems: Problems): readonly KnownToken[] {
  const file = readConfigFile(path, 'auth.tokens', problems);
  if (file === undefined) return [];
  return tokensIn(file, { path: 'auth.tokens', problems });
}

function tokensIn(file: Written, at: At): readonly KnownToken[] {
  // An empty file is one that somebody is about to write: taken for no tokens it would lock everybody out.
  if (file.kind !== 'map') {
    refuse(file, at, 'a mapping of names to { sha256, until }, or {} for none');
    return [];
  }
  const found = new Map<string, KnownToken>();
  for (const { key, place, value } of uniqueEntries(file.entries(), at)) {
    const name = principalName.read({ kind: 'scalar', place, value: key, text: key }, at, '');
    // Several of one name: an old one and the one that replaces it.
    const all = value.kind === 'list' ? [...value.items()] : [value];
    for (const one of all) addToken(found, name, tokenIn(one, under(at, key)), one.place, at);
  }
  if (found.size > MOST_TOKENS)
    at.problems.add(at.path, file.place, `has ${found.size} tokens, must be at most ${MOST_TOKENS}`);
  return [...found.values()];
}

/** Unset: what is wrong with it was told. */
function tokenIn(written: Written, at: At): Entry | undefined {
  const entry = readGroup(TOKEN, written, at, { sha256: '', until: undefined });
  if (entry.sha256 !== '') return entry;
  const isSaid = written.kind === 'map' && entryOf(written, 'sha256') !== undefined;
  if (!isSaid && written.kind !== 'list')
    at.problems.add(under(at, 'sha256').path, written.place, `is missing, must be ${sha256.allowed}`);
  return undefined;
}

/** One token is one principal. */
function addToken(found: Map<string, KnownToken>, name: string, entry: Entry | undefined, place: string, at: At): void {
  if (entry === undefined || name === '') return;
  const other = found.get(entry.sha256);
  if (other === undefined) found.set(entry.sha256, { ...entry, name });
  else at.problems.add(under(at, name).path, place, `has the same token as ${other.name}`);
}

function readKeys(path: string, problems: Problems): ReturnType<typeof parseKeys> | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.length > MOST_KEY_BYTES) throw new Error(`it is larger than ${MOST_KEY_BYTES} bytes`);
    return parseKeys(text);
  } catch (error) {
    problems.add(
      'auth.jwt.keys',
      path,
      `must be a file with a JWK set; ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}
