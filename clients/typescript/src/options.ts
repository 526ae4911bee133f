import type { TlsOptions } from './connection/tls-options.js';
import type { TokenSource } from './connection/token.js';
import { checkTracing } from './tracing/find-api.js';
import type { Logger } from './words/logger.js';
import type { Metrics } from './words/metrics.js';
import { optionalText, optionsNeeded, wordWithin, wrongSetting } from './words/option-checks.js';
import type { TracingOptions } from './words/tracing.js';
import { shown } from './words/values.js';

export interface KeyturnOptions {
  /** `session`: every call on one stream, which keeps turns alive and reconnects. `unary`: each call by itself. Unset: session. */
  readonly transport?: 'session' | 'unary' | undefined;
  /** Who asks, for people who look, in calls that do not say; up to 256 bytes. Unset: host name and process, `web-1/4711`. */
  readonly consumerId?: string | undefined;
  /**
   * Who takes over the turns of a broken stream, up to 256 bytes. Of two clients with one id the newer wins, and the older
   * ends for good (SESSION_REPLACED). Unset: an id that no other client has.
   */
  readonly sessionId?: string | undefined;
  /** How long turns outlive a broken stream, ms, 100 ms to 24 h. Within this a client that comes back has them still. Unset: 10 s. */
  readonly sessionTtl?: number | undefined;
  /**
   * How long before a turn may have ended its signal aborts, ms. Unset: a tenth of its life, at most 2 s. Never more than
   * half of its life.
   */
  readonly margin?: number | undefined;
  /** How many calls may wait for their answers on a session; one more is refused (RESOURCE_EXHAUSTED). Unset: 100,000. */
  readonly openCommands?: number | undefined;
  /** How many bytes they may take together. Unset: 256 MiB. */
  readonly openBytes?: number | undefined;
  /**
   * TLS, 1.2 or later. `true`: the sidecar's certificate must be of an authority that Node knows, and for the host of the
   * address. An object says more: {@link TlsOptions}. Unset: none.
   */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Who asks, where the sidecar wants to know: {@link TokenSource}. Unset: no token. */
  readonly token?: TokenSource | undefined;
  /** The token may be sent to another machine in clear text: anybody on the way can read it. Unset: that is refused. */
  readonly insecure?: boolean | undefined;
  /** Where the client writes what no call tells: {@link Logger}; `console` is one. Unset: warnings of the process (stderr). */
  readonly logger?: Logger | undefined;
  /** Told of calls, turns and reconnects, to be counted: {@link Metrics}. Unset: nobody. */
  readonly metrics?: Metrics | undefined;
  /**
   * Spans of OpenTelemetry, where `@opentelemetry/api` is installed beside the client: {@link TracingOptions}. `true`: it is an
   * error if it is not; `false`: none. Unset: if it is there.
   */
  readonly tracing?: boolean | TracingOptions | undefined;
}

type Limit = readonly [least: number, most: number, unit: string];

const LIMITS: Readonly<Record<'sessionTtl' | 'margin' | 'openCommands' | 'openBytes', Limit>> = {
  sessionTtl: [100, 86_400_000, 'ms'],
  margin: [0, 86_400_000, 'ms'],
  openCommands: [1, 100_000, 'calls'],
  openBytes: [4_194_304, Number.MAX_SAFE_INTEGER, 'bytes'],
};

const OPTIONS: Readonly<Record<keyof KeyturnOptions, true>> = {
  transport: true,
  consumerId: true,
  sessionId: true,
  sessionTtl: true,
  margin: true,
  openCommands: true,
  openBytes: true,
  tls: true,
  token: true,
  insecure: true,
  logger: true,
  metrics: true,
  tracing: true,
};

const UNIX_SOCKET = /^unix:.+/;
const HOST_AND_PORT = /^(?:\[[^\]]+\]|[^\s:/,[\]]+):(\d{1,5})$/;
const LAST_PORT = 65_535;

/** Anything else would be looked up as a name, in vain, until the first call runs out of time. */
function checkAddress(address: string): void {
  const port = typeof address === 'string' ? Number(HOST_AND_PORT.exec(address)?.[1] ?? 0) : 0;
  if (port >= 1 && port <= LAST_PORT) return;
  if (typeof address === 'string' && UNIX_SOCKET.test(address)) return;
  throw wrongSetting(`address: ${shown(address)} is not allowed; "host:port" or "unix:/path" is`);
}

/** Names that lead to this machine, whatever a name server says. */
const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\]):/i;

/** The sidecar would refuse it, too, but only when everybody on the way has read it. */
function checkToken(address: string, { token, tls, insecure = false }: KeyturnOptions): void {
  if (typeof insecure !== 'boolean') throw wrongSetting(`insecure is ${shown(insecure)}; allowed is true or false`);
  const isClear = tls === undefined || tls === false;
  if (token === undefined || !isClear || insecure || UNIX_SOCKET.test(address) || LOOPBACK.test(address)) return;
  throw wrongSetting(`token: it would be sent to ${address} in clear text; use tls, or say insecure: true`);
}

/** @throws KeyturnError that names the option, its value, and what is allowed */
export function checkOptions(address: string, options: KeyturnOptions): void {
  checkAddress(address);
  optionsNeeded('the options of connect', options, OPTIONS);
  checkToken(address, options);
  wordWithin('transport', options.transport, ['session', 'unary']);
  optionalText('consumerId', options.consumerId);
  optionalText('sessionId', options.sessionId);
  checkTracing(options.tracing);
  for (const name of ['sessionTtl', 'margin', 'openCommands', 'openBytes'] as const) {
    const value = options[name];
    const [least, most, unit] = LIMITS[name];
    if (value !== undefined && !(Number.isFinite(value) && value >= least && value <= most))
      throw wrongSetting(`${name}: ${shown(value)} is not allowed; ${least} to ${most} ${unit} is`);
  }
}
