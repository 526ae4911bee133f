/** The configuration: what the file says, then the environment, then the flags, checked as a whole. */

import type { AccessSettings, ClientBounds } from '../access/settings.js';
import { DEFAULT_LIMITS, type Limits } from '../core/contract/limits.js';
import { BUILT_IN_POLICY, type Policy } from '../core/contract/policy.js';
import { BUILT_IN_KEEPALIVE, type CoordinatorSettings, type SessionKeepalive } from '../core/contract/settings.js';
import { checkAccess } from './access-check.js';
import { ACCESS_DOC, ACCESS_GROUP, NO_ACCESS } from './access-settings.js';
import { checkCluster, type Places } from './cluster-check.js';
import {
  CLUSTER_DEFAULTS,
  CLUSTER_DOC,
  CLUSTER_GROUP,
  type ClusterFields,
  type ClusterFlag,
  type ClusterSettings,
  MEMBER,
  PEER_TLS,
} from './cluster-settings.js';
import { checkEnvironment } from './environment.js';
import { readConfigFile } from './file.js';
import { KEEPALIVE_DOC, KEEPALIVE_GROUP } from './keepalive-settings.js';
import { type At, type Kind, refuse } from './kinds.js';
import { LIMITS_GROUP } from './limit-settings.js';
import { POLICY_GROUP } from './policy-settings.js';
import { Problems } from './problem.js';
import { checkDefaultPolicy, checkLimits, checkQueuePolicy, type Surroundings } from './relations.js';
import {
  CONFIG_FILE,
  SERVER_DEFAULTS,
  SERVER_REFUSALS,
  SERVER_SETTINGS,
  type ServerSettings,
} from './server-settings.js';
import {
  fieldsOf,
  type Group,
  groupKind,
  readGroup,
  snakeCase,
  type Table,
  under,
  uniqueEntries,
} from './settings-table.js';
import { checkTls } from './tls-check.js';
import { TLS_DEFAULTS, TLS_DOC, TLS_FLAGS, TLS_GROUP, TLS_SETTINGS, type TlsSettings } from './tls-settings.js';
import { entryOf, showText, type Written, writtenText } from './written.js';

export interface Config {
  /** The settings of the process, as they are in effect. */
  readonly server: ServerSettings;
  /** Its files fit each other, or did when they were read. */
  readonly tls: TlsSettings;
  /** Who may ask what. Unset: whoever reaches the sidecar may ask everything. */
  readonly access: AccessSettings | undefined;
  readonly coordinator: CoordinatorSettings;
  readonly keepalive: SessionKeepalive;
  /** Somebody asked for the address of the console: another one would not do. */
  readonly isConsoleAskedFor: boolean;
  /** Of a member of a cluster. Unset: it is alone. */
  readonly cluster: ClusterSettings | undefined;
  /** What works and is hardly meant, for people; each a line that names setting and place. */
  readonly warnings: readonly string[];
}

/** What the command line gave, by the field of the setting; `config` names the file. */
export type Flags = Readonly<
  Partial<Record<keyof ServerSettings | (typeof TLS_FLAGS)[keyof TlsSettings] | ClusterFlag | 'config', string>>
>;
export type Environment = Readonly<Record<string, string | undefined>>;

interface Everything extends ServerSettings {
  readonly auth: AccessSettings;
  readonly tls: TlsSettings;
  readonly cluster: ClusterFields;
  readonly sessionKeepalive: SessionKeepalive;
  readonly limits: Limits;
  /** Read once it is known whether there is a cluster. */
  readonly default: Written | undefined;
  /** Read once `default` is known. */
  readonly queues: Written | undefined;
}

const later: Kind<Written | undefined> = {
  allowed: 'a mapping of names to policies',
  read: (written) => written,
  write: () => ({}),
};

export const LIMITS_DOC = 'Bounds of everything that could grow.';
export const DEFAULT_DOC = 'The policy of queues that are not named, and what named ones leave out.';
export const QUEUES_DOC = 'Named queues, each with what differs from `default`.';

const EVERYTHING: Group<Everything> = {
  refusals: SERVER_REFUSALS,
  table: {
    ...SERVER_SETTINGS,
    tls: { kind: groupKind(TLS_GROUP), doc: TLS_DOC },
    auth: { kind: groupKind(ACCESS_GROUP), doc: ACCESS_DOC },
    cluster: { kind: groupKind(CLUSTER_GROUP), doc: CLUSTER_DOC },
    sessionKeepalive: { kind: groupKind(KEEPALIVE_GROUP), doc: KEEPALIVE_DOC },
    limits: { kind: groupKind(LIMITS_GROUP), doc: LIMITS_DOC },
    default: { kind: later, doc: DEFAULT_DOC },
    queues: { kind: later, doc: QUEUES_DOC },
  },
};

const BUILT_IN: Everything = {
  ...SERVER_DEFAULTS,
  tls: TLS_DEFAULTS,
  auth: NO_ACCESS,
  cluster: CLUSTER_DEFAULTS,
  sessionKeepalive: BUILT_IN_KEEPALIVE,
  limits: DEFAULT_LIMITS,
  default: undefined,
  queues: undefined,
};

/**
 * Reads the file that flags or environment name, if any, and lays environment and flags over it.
 *
 * @throws ConfigError naming every wrong setting
 */
export function loadConfig(flags: Flags, env: Environment): Config {
  const problems = new Problems();
  const at: At = { path: '', problems };
  const file = findFile(flags, env, problems);
  const said = file === undefined ? BUILT_IN : readGroup(EVERYTHING, file, at, BUILT_IN);
  const sources: Sources = { file, flags, env, problems };
  const server = overridden(pickServer(said), sources);
  checkAddresses(server, problems);
  const isConsoleAskedFor = placesOf(sources).server('consoleListen') !== undefined;
  if (isConsoleAskedFor) checkConsole(server, problems);
  const tls = overriddenTls(said.tls, sources);
  checkTls(tls, (field) => placeOfTls(field, sources), problems);
  const access = said.auth === NO_ACCESS ? undefined : said.auth;
  const cluster = overriddenCluster(said.cluster, sources);
  checkLimits(said.limits, entryOf(file, 'limits')?.value, problems);
  checkCluster({ server, cluster, placeOf: placesOf(sources), problems });
  checkAccess({
    server,
    tls,
    cluster,
    access,
    placeOf: placesOf(sources),
    written: entryOf(file, 'auth')?.value,
    problems,
  });
  const isCluster = server.store !== undefined;
  const inherited = readDefault(said.default, isCluster, under(at, 'default'));
  const surroundings: Surroundings = { limits: said.limits, dataDir: server.dataDir, isCluster, inherited };
  checkDefaultPolicy(inherited, surroundings, said.default, problems);
  const queues = readQueues(said.queues, surroundings, under(at, 'queues'));
  checkReachable(server, queues, sources);
  checkEnvironment(env, VARIABLES, problems);
  problems.throwIfAny();
  const coordinator = settingsOf(server, said.limits, inherited, queues, access?.perClient);
  const keepalive = Object.freeze(said.sessionKeepalive);
  return freeze(
    { server, tls, access, coordinator, keepalive, isConsoleAskedFor, warnings: problems.warnings },
    cluster,
  );
}

/** In a cluster a queue is durable unless somebody says otherwise, which is refused. */
function readDefault(written: Written | undefined, isCluster: boolean, at: At): Policy {
  const builtIn = isCluster ? { ...BUILT_IN_POLICY, durable: true } : BUILT_IN_POLICY;
  return written === undefined ? builtIn : readGroup(POLICY_GROUP, written, at, builtIn);
}

/** The variables of all settings. */
const VARIABLES: readonly string[] = [
  CONFIG_FILE.env,
  ...fieldsOf(SERVER_SETTINGS).map((field) => SERVER_SETTINGS[field].env),
  ...fieldsOf(TLS_SETTINGS).map((field) => TLS_SETTINGS[field].env),
  ...fieldsOf(MEMBER.settings).map((field) => MEMBER.settings[field].env),
  ...fieldsOf(PEER_TLS.settings).map((field) => PEER_TLS.settings[field].env),
];

/** A sidecar that makes no queue and knows none refuses every call. */
function checkReachable({ autoCreate }: ServerSettings, queues: ReadonlyMap<string, Policy>, sources: Sources): void {
  if (autoCreate || queues.size > 0) return;
  const last = overrides(SERVER_SETTINGS.autoCreate, 'autoCreate', sources).at(-1);
  const place = (last ?? entryOf(sources.file, 'auto_create')?.value)?.place ?? 'built-in';
  sources.problems.add(
    'auto_create',
    place,
    'is false, but no queue is named under queues: every call would be refused',
  );
}

function isNothing(written: Written): boolean {
  return written.kind === 'scalar' && written.value === null;
}

function findFile(flags: Flags, env: Environment, problems: Problems): Written | undefined {
  if (flags.config !== undefined) return readConfigFile(flags.config, CONFIG_FILE.flag, problems);
  const named = env[CONFIG_FILE.env];
  return named === undefined || named === '' ? undefined : readConfigFile(named, CONFIG_FILE.env, problems);
}

function pickServer({
  tls: _tls,
  auth: _auth,
  cluster: _cluster,
  sessionKeepalive: _sessionKeepalive,
  limits: _limits,
  default: _default,
  queues: _queues,
  ...server
}: Everything): ServerSettings {
  return server;
}

interface Sources {
  readonly file: Written | undefined;
  readonly flags: Flags;
  readonly env: Environment;
  readonly problems: Problems;
}

function overridden(server: ServerSettings, sources: Sources): ServerSettings {
  const result = { ...server };
  for (const field of fieldsOf(SERVER_SETTINGS)) {
    const at: At = { path: snakeCase(field), problems: sources.problems };
    for (const written of overrides(SERVER_SETTINGS[field], field, sources))
      override(SERVER_SETTINGS, field, written, at, result);
  }
  return result;
}

function overriddenTls(tls: TlsSettings, sources: Sources): TlsSettings {
  const result = { ...tls };
  for (const field of fieldsOf(TLS_SETTINGS)) {
    const at: At = { path: `tls.${snakeCase(field)}`, problems: sources.problems };
    for (const written of overrides(TLS_SETTINGS[field], TLS_FLAGS[field], sources))
      override(TLS_SETTINGS, field, written, at, result);
  }
  return result;
}

function overriddenCluster({ tls: inFile, ...cluster }: ClusterFields, sources: Sources): ClusterFields {
  const result = { ...cluster };
  for (const field of fieldsOf(MEMBER.settings)) {
    const at: At = { path: MEMBER.path + snakeCase(field), problems: sources.problems };
    for (const written of overrides(MEMBER.settings[field], MEMBER.flags[field], sources))
      override(MEMBER.settings, field, written, at, result);
  }
  const tls = { ...inFile };
  for (const field of fieldsOf(PEER_TLS.settings)) {
    const at: At = { path: PEER_TLS.path + field, problems: sources.problems };
    for (const written of overrides(PEER_TLS.settings[field], PEER_TLS.flags[field], sources))
      override(PEER_TLS.settings, field, written, at, tls);
  }
  return { ...result, tls };
}

/** Where a setting of the process or of the cluster was said last; unset: nowhere. */
function placesOf(sources: Sources): Places {
  const { file } = sources;
  const inCluster = entryOf(file, 'cluster')?.value;
  return {
    server: (field) =>
      overrides(SERVER_SETTINGS[field], field, sources).at(-1)?.place ?? entryOf(file, snakeCase(field))?.value.place,
    peerTls: (field) =>
      overrides(PEER_TLS.settings[field], PEER_TLS.flags[field], sources).at(-1)?.place ??
      entryOf(entryOf(inCluster, 'tls')?.value, field)?.value.place,
    cluster: inCluster?.place,
  };
}

function placeOfTls(field: keyof TlsSettings, sources: Sources): string {
  const last = overrides(TLS_SETTINGS[field], TLS_FLAGS[field], sources).at(-1);
  const inFile = entryOf(entryOf(sources.file, 'tls')?.value, snakeCase(field))?.value;
  return (last ?? inFile)?.place ?? 'all sources together';
}

/**
 * What environment and flags say of a setting, in this order. An empty environment variable is one that is not set: this
 * is how people take one away in a compose file.
 */
function overrides(
  { env: variable, flag }: { readonly env: string; readonly flag: string },
  name: keyof Flags,
  { env, flags }: Sources,
): readonly Written[] {
  const fromEnv = env[variable];
  const fromFlag = flags[name];
  return [
    ...(fromEnv === undefined || fromEnv === '' ? [] : [writtenText(fromEnv, variable)]),
    ...(fromFlag === undefined ? [] : [writtenText(fromFlag, flag)]),
  ];
}

function override<T, K extends keyof T>(table: Table<T>, field: K, written: Written, at: At, result: T): void {
  result[field] = table[field].kind.read(written, at, result[field]);
}

function checkAddresses({ listen, httpListen }: ServerSettings, problems: Problems): void {
  if (listen !== httpListen || listen.endsWith(':0')) return;
  problems.add('http_listen', 'all sources together', `is ${showText(httpListen)}, must differ from listen`);
}

function checkConsole({ listen, httpListen, consoleListen }: ServerSettings, problems: Problems): void {
  if (consoleListen === undefined || consoleListen.endsWith(':0')) return;
  const other = consoleListen === listen ? 'listen' : consoleListen === httpListen ? 'http_listen' : undefined;
  if (other !== undefined)
    problems.add('console_listen', 'all sources together', `is ${showText(consoleListen)}, must differ from ${other}`);
}

function readQueues(written: Written | undefined, surroundings: Surroundings, at: At): ReadonlyMap<string, Policy> {
  const { limits, inherited } = surroundings;
  const queues = new Map<string, Policy>();
  if (written === undefined || isNothing(written)) return queues;
  if (written.kind !== 'map') {
    refuse(written, at, later.allowed);
    return queues;
  }
  for (const { key, place, value } of uniqueEntries(written.entries(), at)) {
    checkQueueName(key, place, limits, at);
    const policy = readGroup(POLICY_GROUP, value, under(at, key), inherited);
    checkQueuePolicy(under(at, key).path, policy, surroundings, value, at.problems);
    queues.set(key, policy.durable ? policy : { ...policy, durability: BUILT_IN_POLICY.durability });
  }
  if (queues.size > limits.queues) {
    at.problems.add(
      at.path,
      written.place,
      `has ${queues.size} names, must be at most limits.queues, ${limits.queues}`,
    );
  }
  return queues;
}

const QUEUE_NAME = /^[A-Za-z0-9._:/-]+$/;

function checkQueueName(name: string, place: string, { queueNameBytes }: Limits, at: At): void {
  if (QUEUE_NAME.test(name) && name.length <= queueNameBytes) return;
  const what = `${showText(name)} is no name of a queue, must be 1 to ${queueNameBytes} of A-Za-z0-9._:/-`;
  at.problems.add(at.path, place, what);
}

function settingsOf(
  { autoCreate, startupHold }: ServerSettings,
  limits: Limits,
  defaultPolicy: Policy,
  queues: ReadonlyMap<string, Policy>,
  bounds: ClientBounds | undefined,
): CoordinatorSettings {
  for (const policy of [defaultPolicy, ...queues.values()]) freezePolicy(policy);
  const settings = { defaultPolicy, queues, autoCreate, startupHold, limits: Object.freeze(limits) };
  if (bounds === undefined) return Object.freeze(settings);
  const { turns, memoryBytes } = bounds;
  return Object.freeze({ ...settings, perClient: Object.freeze({ turns, memoryBytes }) });
}

function freeze({ server, tls, ...rest }: Omit<Config, 'cluster'>, fields: ClusterFields): Config {
  const { store } = server;
  const registry = server.registry ?? store;
  const cluster = store && registry && Object.freeze({ ...fields, store, registry, tls: Object.freeze(fields.tls) });
  return Object.freeze({ ...rest, server: Object.freeze(server), tls: Object.freeze(tls), cluster });
}

function freezePolicy(policy: Policy): void {
  Object.freeze(policy.retry);
  if (policy.rate !== undefined) Object.freeze(policy.rate);
  Object.freeze(policy);
}
