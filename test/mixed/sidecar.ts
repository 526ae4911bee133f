/** The sidecar of the mixed test: a process with a data directory, killed and started again on the same address. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MAIN } from '../support/main.js';
import { DURABLE_QUEUE, MEMORY_QUEUE, TURN_QUEUE } from './plan.js';

const LONGEST_START_MS = 30_000;

/** What a dead worker had is tried again soon, and as often as workers are killed. */
const RETRY = { max_attempts: 100, initial: '10ms', factor: 2, max: '200ms', jitter: 'full' };
const QUEUES = {
  [MEMORY_QUEUE]: { retry: RETRY },
  [DURABLE_QUEUE]: { durable: true, retry: RETRY },
  // The place of a caller that was killed in the line holds up its key for so long.
  [TURN_QUEUE]: { durable: true, waiting_per_key: 'unlimited', ticket_ttl: '2s' },
};

export interface Addresses {
  readonly grpc: string;
  readonly http: string;
}

export class Sidecar {
  #child: ChildProcess | undefined;
  readonly #killAtExit = () => this.#child?.kill('SIGKILL');

  private constructor(
    private readonly config: string,
    readonly log: string[] = [],
  ) {
    process.once('exit', this.#killAtExit);
  }

  /** On free ports of loopback. */
  static async start(folder: string): Promise<{ readonly sidecar: Sidecar; readonly at: Addresses }> {
    const config = join(folder, 'keyturn.yaml');
    // JSON is YAML.
    writeFileSync(config, JSON.stringify({ data_dir: join(folder, 'data'), queues: QUEUES }));
    const sidecar = new Sidecar(config);
    return { sidecar, at: await sidecar.startAt({ grpc: '127.0.0.1:0', http: '127.0.0.1:0' }) };
  }

  /** Resolves when it listens, which is before it has read its data directory. */
  async startAt({ grpc, http }: Addresses): Promise<Addresses> {
    const args = [MAIN, 'serve', '--config', this.config, '--listen', grpc, '--http-listen', http];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: environment() });
    this.#child = child;
    return new Promise((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`the sidecar ${why}:\n${this.log.slice(-20).join('\n')}`));
      const timer = setTimeout(() => fail('took too long to start'), LONGEST_START_MS);
      child.once('exit', (code, signal) => fail(`ended with ${signal ?? code}`));
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.log.push(line);
        const found = addressesIn(line);
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    process.off('exit', this.#killAtExit);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.removeAllListeners('exit');
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }
}

function addressesIn(line: string): Addresses | undefined {
  if (!line.includes('"listening"')) return undefined;
  const said: unknown = JSON.parse(line);
  if (typeof said !== 'object' || said === null || !('grpc' in said) || !('http' in said)) return undefined;
  return typeof said.grpc === 'string' && typeof said.http === 'string'
    ? { grpc: said.grpc, http: said.http }
    : undefined;
}

function environment(): NodeJS.ProcessEnv {
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_')));
  // Nobody looks.
  return { ...others, KEYTURN_CONSOLE_LISTEN: 'off' };
}
