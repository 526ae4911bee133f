/** A server in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Dist, TODAY } from '../against/side.js';
import type { Question } from './usage-probe.js';

export interface ServerProcess {
  /** host:port */
  readonly address: string;
  /** host:port of its metrics; empty: it has none. */
  readonly http: string;
  /** Where its console is, a URL; empty: it has none. */
  readonly console: string;
  /** Of the process, as the system counts it. */
  readonly pid: number;
  /** Bytes in use, garbage not counted. */
  bytesInUse(): Promise<number>;
  /** The longest pause of its event loop while this goes on, ms. */
  longestPause(during: () => Promise<unknown>): Promise<number>;
  /** Since its start, all threads. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
  /** As a crash does it (SIGKILL). Resolves when it is gone. */
  kill(): Promise<void>;
}

export interface SidecarOptions {
  /** Of the policy of all queues, by their names in the file. */
  readonly policy?: Readonly<Record<string, string | number | boolean>>;
  readonly limits?: Readonly<Record<string, number>>;
  /** Who may do what, as in the file. Unset: everybody everything. */
  readonly auth?: { readonly tokens: string; readonly rights: Readonly<Record<string, readonly object[]>> };
  /** Unset: nothing outlives it. */
  readonly dataDirectory?: string;
  /** The Redis of its cluster. Unset: it is alone. */
  readonly store?: string;
  /** 0: a gateway of its cluster. */
  readonly weight?: number;
  /** Of a new cluster. Unset: as many as are built in. */
  readonly partitions?: number;
  /** Where gRPC is served. Unset: a port of its own on loopback. */
  readonly listen?: string;
  /** Of its cluster. Unset: the built-in one. */
  readonly clusterName?: string;
  /** Policies of queues, as in the file. */
  readonly queues?: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
  /** It has a console. Unset: nobody looks. */
  readonly console?: boolean;
  /** Of Node. */
  readonly flags?: readonly string[];
  /** Whose code. Unset: that of this tree. */
  readonly dist?: Dist;
}

/** The sidecar as people start it, with the built-in settings but for these. Resolves when it listens. */
export async function startSidecar(options: SidecarOptions = {}): Promise<ServerProcess> {
  const {
    policy = {},
    limits = {},
    auth,
    dataDirectory,
    store,
    weight,
    partitions,
    listen = '127.0.0.1:0',
    clusterName: name,
    queues,
    console = false,
    flags = [],
    dist = TODAY,
  } = options;
  const cluster =
    weight === undefined && partitions === undefined && name === undefined ? undefined : { weight, partitions, name };
  const script = new URL('src/main.js', dist);
  const directory = await mkdtemp(join(tmpdir(), 'keyturn-bench-'));
  try {
    // JSON is YAML.
    const file = join(directory, 'keyturn.yaml');
    const settings = { default: policy, queues, limits, auth, data_dir: dataDirectory, store, cluster };
    await writeFile(file, JSON.stringify(settings));
    const ports = ['--listen', listen, '--http-listen', '127.0.0.1:0'];
    // Code of before there was a console knows no such option.
    const page = console ? ['--console-listen', '127.0.0.1:0'] : [];
    return await startServer(script, ['serve', '--config', file, ...ports, ...page, '--drain-timeout', '0s'], flags);
  } finally {
    // It is read at the start only.
    await rm(directory, { recursive: true });
  }
}

/** grpc-js alone; answers every call with this message. */
export function startBareServer(answer: Uint8Array): Promise<ServerProcess> {
  const script = new URL('../peers/bare-grpc-server.js', import.meta.url);
  return startServer(script, [Buffer.from(answer).toString('base64')]);
}

/** grpc-js alone; answers every command of a session with the reply of its kind in this message. */
export function startBareSessionServer(replies: Uint8Array): Promise<ServerProcess> {
  const script = new URL('../peers/bare-session-server.js', import.meta.url);
  return startServer(script, [Buffer.from(replies).toString('base64')]);
}

/** Coordinators of the same kind without anything around them, in memory: a home, and one that forwards to it. */
export function startLinkProcess(role: 'alone' | 'home' | 'gateway', dist: Dist, home = ''): Promise<ServerProcess> {
  return startServer(new URL('bench/load/link-process.js', dist), [role, home]);
}

/** Each says where it listens in a JSON line with the field `grpc`, and `http` if it has that. */
async function startServer(
  script: URL,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const probe = fileURLToPath(new URL('./usage-probe.js', import.meta.url));
  // A profiled row is about its servers.
  const profiling = process.execArgv.filter((flag) => flag.startsWith('--cpu-prof'));
  const command = [...profiling, ...flags, '--expose-gc', '--import', probe, fileURLToPath(script), ...args];
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: ownEnvironment(),
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const { grpc: address, http, console } = await listening(child);
  const endBy = async (signal: NodeJS.Signals) => {
    process.off('exit', end);
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return {
    address,
    http,
    console,
    pid: child.pid ?? 0,
    bytesInUse: () => ask(child, 'bytes in use'),
    async longestPause(during) {
      await ask(child, 'watch the loop');
      await during();
      return ask(child, 'longest pause');
    },
    cpuSeconds: () => ask(child, 'CPU seconds'),
    stop: () => endBy('SIGTERM'),
    kill: () => endBy('SIGKILL'),
  };
}

async function ask(child: ChildProcess, question: Question): Promise<number> {
  child.send(question);
  const [answer]: unknown[] = await once(child, 'message');
  if (typeof answer !== 'number') throw new Error(`the server answered ${String(answer)} when asked for ${question}`);
  return answer;
}

/** Somebody's settings for a sidecar are not those that are measured. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_')));
  // Nobody looks, unless a row wants that.
  return { ...others, KEYTURN_CONSOLE_LISTEN: 'off' };
}

interface Listening {
  readonly grpc: string;
  readonly http: string;
  readonly console: string;
}

function listening(child: ChildProcess): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said.join('\n')}`)));
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        const addresses = addressesIn(line);
        if (addresses !== undefined) resolve(addresses);
        // Only until it listens; read on, so that the pipe never fills.
        else if (said.length < 100) said.push(line);
      });
    }
  });
}

function addressesIn(line: string): Listening | undefined {
  if (!line.startsWith('{')) return undefined;
  const told: unknown = JSON.parse(line);
  if (typeof told !== 'object' || told === null || !('grpc' in told)) return undefined;
  const http = 'http' in told && typeof told.http === 'string' ? told.http : '';
  const console = 'console' in told && typeof told.console === 'string' ? told.console : '';
  return typeof told.grpc === 'string' ? { grpc: told.grpc, http, console } : undefined;
}
