/**
 * A whole sidecar as `keyturn serve` starts it, in the process of the test: the same settings, servers and log, without the
 * second that a process takes to start. What a signal, an exit code or a death promises needs `ServeProcess` instead.
 */
import { pino } from 'pino';
import { type Sidecar, startSidecar } from '../../src/cli/serve/sidecar.js';
import { packageVersion } from '../../src/cli/version.js';
import { type Flags, loadConfig } from '../../src/config/config.js';

export type LogLine = Readonly<Record<string, unknown>>;

/** Runs tasks when a test ends. */
interface Cleanup {
  after(task: () => unknown): void;
}

/** Addresses on free ports, and no console unless a test asks for one. */
const OWN: Flags = { listen: '127.0.0.1:0', httpListen: '127.0.0.1:0', consoleListen: 'off' };

export class SidecarHere {
  readonly lines: LogLine[] = [];
  readonly #waiting = new Set<() => void>();
  #sidecar: Sidecar | undefined;

  /** Resolves when the sidecar listens. @throws CommandFailure, ConfigError as the command does */
  static start(cleanup: Cleanup, args: readonly string[] = []): Promise<SidecarHere> {
    return SidecarHere.startWith(cleanup, flagsOf(args));
  }

  /** The same, with flags as the command line hands them over. */
  static async startWith(cleanup: Cleanup, flags: Flags): Promise<SidecarHere> {
    const here = new SidecarHere();
    await here.#start(cleanup, flags);
    return here;
  }

  async #start(cleanup: Cleanup, flags: Flags): Promise<void> {
    const config = loadConfig({ ...OWN, ...flags }, {});
    const formatters = { level: (level: string) => ({ level }) };
    const log = pino({ base: null, level: config.server.logLevel, formatters }, { write: (line) => this.#take(line) });
    const version = packageVersion();
    const sidecar = await startSidecar(config, { log, version });
    this.#sidecar = sidecar;
    cleanup.after(() => this.stop());
    const { grpc, http, console } = sidecar;
    log.info({ version, grpc, http, console }, 'listening');
    // A failure of the start is for the test that waits for a line of the log.
    sidecar.ready.catch((error: unknown) => log.error({ err: error }, 'the start failed'));
  }

  /** Resolves with the first line that begins with this message. @param from skips as many lines */
  async logged(message: string, from = 0): Promise<LogLine> {
    for (;;) {
      const found = this.lines.slice(from).find(({ msg }) => typeof msg === 'string' && msg.startsWith(message));
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    }
  }

  /** Resolves when the sidecar answers, rejects with what failed. */
  async ready(): Promise<void> {
    await this.#sidecar?.ready;
  }

  /** Where the sidecar listens. */
  address(which: 'grpc' | 'http'): string {
    return String(this.#sidecar?.[which]);
  }

  async get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://${this.address('http')}${path}`);
    return { status: response.status, body: await response.text() };
  }

  /** Ends the sidecar when no turn is live, or after so many ms. */
  async drain(withinMs: number): Promise<void> {
    const sidecar = this.#sidecar;
    this.#sidecar = undefined;
    await sidecar?.drain(withinMs);
  }

  /** Ends the sidecar without waiting for turns. Its store must be there still. */
  async stop(): Promise<void> {
    const sidecar = this.#sidecar;
    this.#sidecar = undefined;
    await sidecar?.stop();
  }

  #take(line: string): void {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) this.lines.push({ ...value });
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** `--cluster-session 2s` is the flag `clusterSession`. */
function flagsOf(args: readonly string[]): Readonly<Record<string, string>> {
  const flags: Record<string, string> = {};
  for (let at = 0; at < args.length; at += 2) {
    const [name = '', value] = args.slice(at, at + 2);
    if (!name.startsWith('--') || value === undefined) throw new TypeError(`${name} is no flag with a value`);
    flags[name.slice(2).replace(/-./g, (dash) => dash.slice(1).toUpperCase())] = value;
  }
  return flags;
}
