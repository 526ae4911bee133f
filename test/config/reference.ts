/** The reference of all settings, made from the tables that read them: docs/CONFIGURATION.md is this text. */

import { VERBS } from '../../src/access/settings.js';
import { ACCESS_DOC, ACCESS_GROUP } from '../../src/config/access-settings.js';
import { CLUSTER_DEFAULTS, MEMBER, PEER_TLS } from '../../src/config/cluster-settings.js';
import { KEEPALIVE_DOC, KEEPALIVE_GROUP } from '../../src/config/keepalive-settings.js';
import type { YamlValue } from '../../src/config/kinds.js';
import { LIMITS_GROUP } from '../../src/config/limit-settings.js';
import { POLICY_GROUP } from '../../src/config/policy-settings.js';
import { CONFIG_FILE, SERVER_DEFAULTS, SERVER_SETTINGS, type ServerSetting } from '../../src/config/server-settings.js';
import { fieldsOf, snakeCase, type Table, writeField } from '../../src/config/settings-table.js';
import { TLS_DEFAULTS, TLS_SETTINGS } from '../../src/config/tls-settings.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { BUILT_IN_KEEPALIVE } from '../../src/core/contract/settings.js';

const INTRODUCTION = `# Configuration

Settings come from a YAML file (\`${CONFIG_FILE.flag}\` or \`${CONFIG_FILE.env}\`), then from the environment, then from flags; the later one wins.
An environment variable that is empty counts as not set. All settings are optional. A wrong one is refused at the start, with
its name, its value, where it was written and what is allowed, all of them at once, and exit code 2.
\`keyturn serve --check-config\` only checks. \`keyturn serve --print-config\` prints everything that is in effect, in a form that can be loaded again.

A duration is a number and its unit: \`250ms\`, \`20s\`, \`5m\`, \`24h\`. The file has at most 1 MiB.
`;

const TLS_NOTE = `In the file those of TLS are one mapping: \`tls: { cert: server.pem, key: server.key, client_ca: clients.pem }\`. What they do, and how certificates are
replaced while it runs, stands in [OPERATING.md](OPERATING.md), "TLS".

Those of a cluster are one mapping too: \`store: redis://10.0.0.5\` and \`cluster: { name: orders, weight: 2, tls: { cert: peer.pem, key: peer.key, ca: peers.pem } }\`. With a \`store\` that sidecars
share every queue is durable, so \`durable: false\`, durability \`memory\`, \`data_dir\` and \`startup_hold\` are refused beside it.

\`auth\` (who somebody is, and what each may do) stands in the file only: [below](#who-may-ask-what-auth).
`;

const ACCESS_INTRODUCTION = `${ACCESS_DOC} It stands in the file only, and names at least one way to show who one is:

\`\`\`yaml
auth:
  tokens: /etc/keyturn/tokens.yaml
  certificates: [{ san_uri: 'spiffe://prod/orders-*', is: orders-worker }]
  jwt: { issuer: 'https://issuer.example', audience: keyturn, keys: /etc/keyturn/jwks.json, name: sub }
  rights:
    orders-worker: [{ queues: [orders, 'orders.*'], may: [produce, consume] }]
    ops: [{ queues: ['*'], groups: ['*'], may: [view, payload, operate] }]
  per_client: { calls_per_second: 5000, waiting: 1000, watches: 10, turns: 2000, memory_bytes: 100000000 }
\`\`\`

- A right names patterns of \`queues\` and of \`groups\` of leaders, in which \`*\` stands for any run of characters, and what its principal \`may\`: ${VERBS.map((verb) => `\`${verb}\``).join(', ')}.
- Of \`jwt\` \`issuer\` and \`audience\` are the claims \`iss\` and \`aud\` that a signed token must have, \`keys\` is a file with the JWK set of the public keys, \`name\` (\`sub\`) the claim that names the principal.
- \`per_client\` bounds each principal by itself, over all its connections: calls and commands a second, how many of them wait at once, how many WatchEvents calls are open, how many turns it holds, and how many bytes. One that is not said bounds nobody. In a cluster each sidecar bounds what it holds itself, as the owner of its partitions.
- Tokens and signed tokens need TLS beyond loopback and sockets, certificates need \`tls.client_ca\`, \`unix\` needs a socket to listen on: else the start is refused. The files of \`tokens\` and \`jwt.keys\` are read again when they change, the settings at the start only.

What each verb allows, what each call needs, how tokens are made and replaced: [SECURITY.md](SECURITY.md).
`;

const POLICY_INTRODUCTION = `A named queue (\`queues: { orders: { … } }\`) takes what it does not say from \`default\`, which takes it from the built-in values below. \`rate\` and \`retry\`
are inherited setting by setting; \`none\` (\`unset\` for \`waiting_per_key\`) takes away what would be inherited.
`;

export function configurationReference(): string {
  return [
    INTRODUCTION,
    '## The process\n',
    serverTable(),
    TLS_NOTE,
    '## Policy of a queue: `default`, `queues`\n',
    POLICY_INTRODUCTION,
    groupTable(POLICY_GROUP.table, BUILT_IN_POLICY),
    '## Silent clients: `session_keepalive`\n',
    `${KEEPALIVE_DOC}\n`,
    groupTable(KEEPALIVE_GROUP.table, BUILT_IN_KEEPALIVE),
    '## Bounds: `limits`\n',
    groupTable(LIMITS_GROUP.table, DEFAULT_LIMITS),
    '## Who may ask what: `auth`\n',
    ACCESS_INTRODUCTION,
    accessTable(),
  ].join('\n');
}

function serverTable(): string {
  const { tls: peerTls, ...member } = CLUSTER_DEFAULTS;
  const rows = [
    ...processRows('', SERVER_SETTINGS, SERVER_DEFAULTS),
    ...processRows('tls.', TLS_SETTINGS, TLS_DEFAULTS),
    ...processRows(MEMBER.path, MEMBER.settings, member),
    ...processRows(PEER_TLS.path, PEER_TLS.settings, peerTls),
  ];
  return table(['setting', 'environment', 'flag', 'default', 'allowed', 'meaning'], rows);
}

function processRows<T extends object>(
  prefix: string,
  settings: { readonly [K in keyof T]-?: ServerSetting<T[K]> },
  defaults: T,
): readonly (readonly string[])[] {
  return fieldsOf(settings).map((field) => {
    const { env, flag, kind, doc } = settings[field];
    const value = inCode(writeField(settings, field, defaults));
    return [`\`${prefix}${snakeCase(field)}\``, `\`${env}\``, `\`${flag}\``, value, kind.allowed, doc];
  });
}

/** Stands in the file only. */
function accessTable(): string {
  const { table: settings } = ACCESS_GROUP;
  const rows = fieldsOf(settings).map((field) => {
    const { kind, doc } = settings[field];
    return [`\`auth.${snakeCase(field)}\``, kind.allowed, doc];
  });
  return table(['setting', 'allowed', 'meaning'], rows);
}

function groupTable<T extends object>(settings: Table<T>, builtIn: T): string {
  const rows = fieldsOf(settings).map((field) => {
    const { kind, doc } = settings[field];
    return [`\`${snakeCase(field)}\``, inCode(writeField(settings, field, builtIn)), kind.allowed, doc];
  });
  return table(['setting', 'built-in', 'allowed', 'meaning'], rows);
}

function inCode(value: YamlValue): string {
  if (typeof value !== 'object') return `\`${value}\``;
  if (Array.isArray(value)) return `\`[${value.join(', ')}]\``;
  const parts = Object.entries(value).map(([name, part]) => `${name}: ${String(part)}`);
  return `\`{ ${parts.join(', ')} }\``;
}

/** Columns are as wide as their widest cell, so that the text can be read as it is. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(escaped));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const [first = '', ...others] = cells.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column] ?? 0))));
  return [first, line(widths.map((width) => '-'.repeat(width))), ...others, ''].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|');
}
