/** The settings of the process itself: the file's top level, environment variables and flags. */

import { hostNames } from './host-names.js';
import { address, choice, duration, optional, path, tcpAddress, yesOrNo } from './kinds.js';
import type { Refusal, Setting } from './settings-table.js';
import { registryAddress, type StoreAddress, storeAddress } from './store-address.js';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];
const AUDITS = ['off', 'stderr'] as const;
type Audit = (typeof AUDITS)[number];

export interface ServerSettings {
  readonly listen: string;
  readonly httpListen: string;
  /** Names that it answers to on loopback, besides localhost and its address. */
  readonly httpHosts: readonly string[];
  /** Unset: there is no console. */
  readonly consoleListen: string | undefined;
  /** Names under which people open it, besides those of this machine and of its address. */
  readonly consoleHosts: readonly string[];
  /** Unset: everything is kept in memory only. */
  readonly dataDir: string | undefined;
  /** Unset: memory, of this process alone. */
  readonly store: StoreAddress | undefined;
  /** Unset: the store. */
  readonly registry: StoreAddress | undefined;
  readonly logLevel: LogLevel;
  /** Where it is written who changed something, or was not let in. */
  readonly audit: Audit;
  /** Whoever reaches it may ask everything, also beyond loopback. */
  readonly insecure: boolean;
  readonly autoCreate: boolean;
  readonly drainTimeout: number;
  readonly startupHold: number;
}

export interface ServerSetting<T> extends Setting<T> {
  readonly env: string;
  readonly flag: string;
  /** What stands for the value in the help of the flag. */
  readonly operand: string;
}

export const SERVER_DEFAULTS: ServerSettings = Object.freeze({
  listen: '127.0.0.1:7420',
  httpListen: '127.0.0.1:7421',
  httpHosts: [],
  consoleListen: '127.0.0.1:7422',
  consoleHosts: [],
  dataDir: undefined,
  store: undefined,
  registry: undefined,
  logLevel: 'info',
  audit: 'off',
  insecure: false,
  autoCreate: true,
  drainTimeout: 20_000,
  startupHold: 0,
});

/** The only setting that the file cannot say. */
export const CONFIG_FILE = {
  env: 'KEYTURN_CONFIG',
  flag: '--config',
  operand: 'file',
  doc: 'YAML file with settings; environment and flags override it.',
} as const;

const DAY = 86_400_000;

export const SERVER_SETTINGS: { readonly [K in keyof ServerSettings]: ServerSetting<ServerSettings[K]> } = {
  listen: {
    kind: address,
    env: 'KEYTURN_LISTEN',
    flag: '--listen',
    operand: 'address',
    doc: 'Where gRPC is served: host:port or unix:/path. Port 0 takes a free one.',
  },
  httpListen: {
    kind: tcpAddress,
    env: 'KEYTURN_HTTP_LISTEN',
    flag: '--http-listen',
    operand: 'address',
    doc: 'Where /metrics, /healthz and /readyz are served.',
  },
  httpHosts: {
    kind: hostNames,
    env: 'KEYTURN_HTTP_HOSTS',
    flag: '--http-hosts',
    operand: 'names',
    doc: 'Names under which /metrics and the probes are asked for on a loopback address, besides localhost and that address: of a proxy before it, say. Beyond loopback any name is answered.',
  },
  consoleListen: {
    kind: optional(tcpAddress, 'off', ''),
    env: 'KEYTURN_CONSOLE_LISTEN',
    flag: '--console-listen',
    operand: 'address',
    doc: 'Where the console is served, a page for people; `off`: nowhere. Beyond loopback it uses `tls`. Nobody asked for it and the port is taken: it takes another one.',
  },
  consoleHosts: {
    kind: hostNames,
    env: 'KEYTURN_CONSOLE_HOSTS',
    flag: '--console-hosts',
    operand: 'names',
    doc: 'Names under which the console is opened, besides localhost and those of its address: of a proxy before it, say. In a variable or a flag with commas between them.',
  },
  dataDir: {
    kind: optional(path, 'none', ''),
    env: 'KEYTURN_DATA_DIR',
    flag: '--data-dir',
    operand: 'directory',
    doc: 'Directory for what durable queues keep; of one sidecar alone.',
  },
  store: {
    kind: storeAddress,
    env: 'KEYTURN_STORE',
    flag: '--store',
    operand: 'address',
    doc: 'Who decides about turns: `memory`, this process alone, and what outlives it is kept in `data_dir`; or the sidecars of a cluster together, which keep everything in this store. A password in it is never printed.',
  },
  registry: {
    kind: registryAddress,
    env: 'KEYTURN_REGISTRY',
    flag: '--registry',
    operand: 'address',
    doc: 'Where the sidecars of a cluster learn of each other. `store`: there, too.',
  },
  logLevel: {
    kind: choice(...LOG_LEVELS),
    env: 'KEYTURN_LOG_LEVEL',
    flag: '--log-level',
    operand: 'level',
    doc: `The least important messages that are logged: ${LOG_LEVELS.join(', ')}.`,
  },
  audit: {
    kind: choice(...AUDITS),
    env: 'KEYTURN_AUDIT',
    flag: '--audit',
    operand: 'where',
    doc: 'Where one line of JSON is written for each change that people make, each look at payloads, and each caller that is not let in: `stderr`, or `off`.',
  },
  insecure: {
    kind: yesOrNo,
    env: 'KEYTURN_INSECURE',
    flag: '--insecure',
    operand: 'true|false',
    doc: 'Serve gRPC beyond loopback though nobody is asked who they are: neither `auth` nor `tls.client_ca`. Without it that is refused.',
  },
  autoCreate: {
    kind: yesOrNo,
    env: 'KEYTURN_AUTO_CREATE',
    flag: '--auto-create',
    operand: 'true|false',
    doc: 'Make a queue that is not named on first use; else NOT_FOUND.',
  },
  drainTimeout: {
    kind: duration(0, DAY),
    env: 'KEYTURN_DRAIN_TIMEOUT',
    flag: '--drain-timeout',
    operand: 'duration',
    doc: 'How long a shutdown waits for live turns.',
  },
  startupHold: {
    kind: duration(0, DAY),
    env: 'KEYTURN_STARTUP_HOLD',
    flag: '--startup-hold',
    operand: 'duration',
    doc: 'For this long after every start no queue gives a turn: turns of an earlier run, of which nothing is known, can end meanwhile. 0s: off. Durable queues do not need it, nor does a first start. Where it is needed: the longest lease, or session ttl if that is longer.',
  },
};

/** Words of the top level that are no settings of the file. */
export const SERVER_REFUSALS: Readonly<Record<string, Refusal>> = {
  config: { harmless: undefined, why: `only ${CONFIG_FILE.flag} or ${CONFIG_FILE.env} can say which file is read` },
};
