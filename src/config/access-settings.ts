/** The settings of access control: who somebody is, and what they may do. Only in the file: rights are read as a whole. */
import { isName } from '../access/principal.js';
import type { AccessSettings, CertificateRule, ClientBounds, JwtSettings, Right } from '../access/settings.js';
import { VERBS } from '../access/settings.js';
import { choice, count, type Kind, listOf, optional, path, refuse, scalar, type YamlValue } from './kinds.js';
import { type Group, groupKind, under, uniqueEntries, writeGroup } from './settings-table.js';

const MOST_PRINCIPALS = 10_000;
const MOST_RIGHTS = 100;
const MOST_PATTERNS = 1_000;

/** It becomes part of what is kept, and is shown to people. */
export const principalName: Kind<string> = scalar({
  allowed: 'a name of 1 to 255 bytes without control characters',
  parse: (value) => (typeof value === 'string' && isName(value) ? value : undefined),
  write: (value) => value,
});

const pattern: Kind<string> = scalar({
  allowed: 'a name of 1 to 255 characters, in which * stands for any run of characters',
  parse: (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= 255 && !/\p{C}/u.test(value) ? value : undefined,
  write: (value) => value,
});

const word: Kind<string> = scalar({
  allowed: 'a text of 1 to 1024 characters',
  parse: (value) => (typeof value === 'string' && value.length > 0 && value.length <= 1_024 ? value : undefined),
  write: (value) => value,
});

const NO_RIGHT: Right = { queues: [], groups: [], may: [] };
const RIGHT: Group<Right> = {
  refusals: {},
  table: {
    queues: {
      kind: listOf(pattern, MOST_PATTERNS, ''),
      doc: 'Patterns of names of queues: `*` is any run of characters.',
    },
    groups: { kind: listOf(pattern, MOST_PATTERNS, ''), doc: 'Patterns of groups whose members elect a leader.' },
    may: { kind: listOf(choice(...VERBS), VERBS.length, 'view'), doc: `What is allowed: ${VERBS.join(', ')}.` },
  },
};

const NO_RULE: CertificateRule = { san: undefined, sanUri: undefined, sanDns: undefined, is: '' };
const CERTIFICATE: Group<CertificateRule> = {
  refusals: {},
  table: {
    san: { kind: optional(pattern, 'none', ''), doc: 'A subject alternative name of any kind, without its kind.' },
    sanUri: { kind: optional(pattern, 'none', ''), doc: 'A name of the kind URI alone: `spiffe://prod/orders-*`.' },
    sanDns: { kind: optional(pattern, 'none', ''), doc: 'A name of the kind DNS alone: `orders.internal`.' },
    is: { kind: principalName, doc: 'Who shows it.' },
  },
};

const NO_JWT: JwtSettings = { issuer: '', audience: '', keys: '', name: 'sub' };
const JWT: Group<JwtSettings> = {
  refusals: {},
  table: {
    issuer: { kind: word, doc: 'The claim `iss` that they must have.' },
    audience: { kind: word, doc: 'The claim `aud` that they must have: without it tokens for others would do.' },
    keys: { kind: path, doc: 'File with the JWK set of the public keys; read again when it changes.' },
    name: { kind: word, doc: 'The claim that names the principal.' },
  },
};

const MOST_CALLS = 10_000_000;
const MOST_BYTES = Number.MAX_SAFE_INTEGER;
const NO_BOUNDS: ClientBounds = {
  callsPerSecond: undefined,
  waiting: undefined,
  watches: undefined,
  turns: undefined,
  memoryBytes: undefined,
};
const BOUNDS: Group<ClientBounds> = {
  refusals: {},
  table: {
    callsPerSecond: {
      kind: optional(count(1, MOST_CALLS), 'none', 1),
      doc: 'Calls and commands of a principal in a second, of all its connections to this sidecar, also those that are wrong. As many again may end or renew what it has.',
    },
    waiting: {
      kind: optional(count(1, MOST_CALLS), 'none', 1),
      doc: 'Calls and commands of a principal that wait at once, of all its connections to this sidecar.',
    },
    watches: {
      kind: optional(count(1, MOST_CALLS), 'none', 1),
      doc: 'WatchEvents calls of a principal at once, tabs of the console among them.',
    },
    turns: {
      kind: optional(count(1, MOST_CALLS), 'none', 1),
      doc: 'Live turns of a principal at once, of all its connections to this sidecar. In a cluster: turns of the partitions that this sidecar owns.',
    },
    memoryBytes: {
      kind: optional(count(1, MOST_BYTES), 'none', 1),
      doc: 'Bytes that a principal may hold at this sidecar: its items, dead letters, turns and waiting calls.',
    },
  },
};

/** Names of principals to their rights. Every name is told where it is wrong. */
const rights: Kind<ReadonlyMap<string, readonly Right[]>> = {
  allowed: 'a mapping of names of principals to lists of rights',
  read(written, at, inherited) {
    if (written.kind === 'scalar' && written.value === null) return inherited;
    if (written.kind !== 'map') {
      refuse(written, at, rights.allowed);
      return inherited;
    }
    const found = new Map<string, readonly Right[]>();
    for (const { key, place, value } of uniqueEntries(written.entries(), at)) {
      const named = { kind: 'scalar', place, value: key, text: key } as const;
      const name = principalName.read(named, at, '');
      const list = listOf(rightKind, MOST_RIGHTS, NO_RIGHT).read(value, under(at, key), []);
      if (name !== '') found.set(name, list);
    }
    if (found.size > MOST_PRINCIPALS)
      at.problems.add(at.path, written.place, `has ${found.size} names, must be at most ${MOST_PRINCIPALS}`);
    return found;
  },
  write: (values) =>
    Object.fromEntries(
      [...values].map(([name, list]): [string, YamlValue] => [
        name,
        list.map((right) => writeGroup(RIGHT.table, right)),
      ]),
    ),
};

/** One that allows nothing was not meant. */
const rightKind: Kind<Right> = {
  ...groupKind(RIGHT),
  read(written, at, inherited) {
    const right = groupKind(RIGHT).read(written, at, inherited);
    if (written.kind !== 'map') return right;
    if (right.may.length === 0)
      at.problems.add(under(at, 'may').path, written.place, `is missing, must be a list of ${VERBS.join(', ')}`);
    if (right.queues.length === 0 && right.groups.length === 0)
      at.problems.add(at.path, written.place, 'names neither queues nor groups, so it allows nothing');
    return right;
  },
};

/** A rule without a name would fit nobody, and of two names it is not known which one was meant. */
const certificateKind: Kind<CertificateRule> = {
  ...groupKind(CERTIFICATE),
  read(written, at, inherited) {
    const rule = groupKind(CERTIFICATE).read(written, at, inherited);
    const named = [rule.san, rule.sanUri, rule.sanDns].filter((name) => name !== undefined);
    if (written.kind === 'map' && named.length !== 1)
      at.problems.add(at.path, written.place, `has ${named.length} of san_uri, san_dns and san, must have one`);
    return rule;
  },
};

export const NO_ACCESS: AccessSettings = Object.freeze({
  tokens: undefined,
  certificates: [],
  jwt: undefined,
  unix: undefined,
  rights: new Map(),
  perClient: undefined,
});

export const ACCESS_DOC = 'Who may ask what. Without it whoever reaches the sidecar may ask everything.';

export const ACCESS_GROUP: Group<AccessSettings> = {
  refusals: {},
  table: {
    tokens: {
      kind: optional(path, 'none', ''),
      doc: 'YAML file with the tokens that are accepted: `NAME: { sha256: …, until: … }`; read again when it changes. `keyturn token new NAME` makes one.',
    },
    certificates: {
      kind: listOf(certificateKind, MOST_PATTERNS, NO_RULE),
      doc: 'Who shows a client certificate with this name, is this. The first that fits counts. Needs `tls.client_ca`.',
    },
    jwt: {
      kind: optional(groupKind(JWT), 'none', NO_JWT),
      doc: 'Signed tokens (JWT) of an issuer, as those that Kubernetes projects.',
    },
    unix: { kind: optional(principalName, 'none', ''), doc: 'Who comes by the Unix socket, is this.' },
    rights: { kind: rights, doc: 'What each may do. Who is not named may do nothing.' },
    perClient: {
      kind: optional(groupKind(BOUNDS), 'none', NO_BOUNDS),
      doc: 'How much each principal may ask and hold, so that none takes the time or the memory of the others.',
    },
  },
};
