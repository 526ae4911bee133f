/** A sidecar that dies and comes back, as processes, at the same address. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { healthOf } from '../cli/health.js';
import { type Cleanup, type Ended, put, temporaryFolder, until } from '../cli/keyturn-process.js';
import { MAIN } from '../support/main.js';

/** Its own settings only: not those of the machine that runs the tests. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_'))),
  // Nobody looks.
  KEYTURN_CONSOLE_LISTEN: 'off',
};
const TAIL = 40;

export interface SidecarPlan {
  /** YAML */
  readonly settings: string;
  /** Where durable queues are kept. Unset: not by itself. */
  readonly dataDir?: string;
  /** Words before the program and its arguments: what it is run by. */
  readonly runBy?: readonly string[];
}

interface Life {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  /** Rejects when it ends without having listened. */
  readonly listening: Promise<void>;
}

export class CrashingSidecar {
  /** The end of what it logged, over all lives. */
  readonly log: string[] = [];
  lives = 0;
  #address = '127.0.0.1:0';
  #httpAddress = '';
  #life: Life | undefined;

  private constructor(
    private readonly plan: SidecarPlan,
    private readonly config: string,
  ) {}

  static async make(cleanup: Cleanup, plan: SidecarPlan): Promise<CrashingSidecar> {
    const config = await put(await temporaryFolder(cleanup), 'keyturn.yaml', plan.settings);
    const sidecar = new CrashingSidecar(plan, config);
    cleanup.after(() => sidecar.kill());
    return sidecar;
  }

  /** Where it listens. Known once it did. */
  get address(): string {
    return this.#address;
  }

  /** Of the life that is. */
  get httpAddress(): string {
    return this.#httpAddress;
  }

  get pid(): number {
    return this.#life?.child.pid ?? 0;
  }

  /** Resolves when it has recovered and serves. */
  async start(): Promise<void> {
    await this.begin();
    await this.untilServing();
  }

  async untilServing(): Promise<void> {
    await until('it serves', async () => (await healthOf(this.#address)) === 'SERVING');
  }

  /** Starts it, to be killed before it listens or after. Resolves when it listens. */
  begin(): Promise<void> {
    const { dataDir, runBy = [] } = this.plan;
    const listen = ['--listen', this.#address, '--http-listen', '127.0.0.1:0'];
    const [program = '', ...args] = [...runBy, process.execPath, MAIN, 'serve', '--config', this.config, ...listen];
    const child = spawn(program, dataDir === undefined ? args : [...args, '--data-dir', dataDir], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: ENVIRONMENT,
    });
    this.lives += 1;
    // Not `exit`: what it said last is to be heard first.
    const exited = once(child, 'close');
    const listening = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.#note(line);
        const addresses = addressesIn(line);
        if (addresses === undefined) return;
        this.#address = addresses.grpc;
        this.#httpAddress = addresses.http;
        resolve();
      });
      exited.then(() => reject(new Error(`it ended before it listened:\n${this.log.join('\n')}`)), reject);
    });
    // Who kills it before it listens does not wait for that.
    listening.catch(() => undefined);
    this.#life = { child, exited, listening };
    return listening;
  }

  /** It is expected to end by itself, because it cannot start. @returns how it ended */
  async startInVain(): Promise<Ended> {
    void this.begin();
    const { child, exited } = this.#life ?? {};
    await exited;
    this.#life = undefined;
    const { exitCode = null, signalCode: signal = null } = child ?? {};
    return { exitCode, signal, stdout: '', stderr: this.log.join('\n') };
  }

  /** @returns undefined: it serves; else how it ended */
  startOrEnd(): Promise<Ended | undefined> {
    const ended = this.startInVain();
    const serves = until('it serves', async () => (await healthOf(this.#address).catch(() => '')) === 'SERVING');
    return Promise.race([ended, serves.then(() => undefined)]);
  }

  /** SIGKILL. Resolves when it is gone. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    life.child.kill('SIGKILL');
    await life.exited;
  }

  /** SIGTERM. @returns its exit code */
  async stop(): Promise<number | null> {
    const life = this.#life;
    if (life === undefined) return null;
    this.#life = undefined;
    life.child.kill('SIGTERM');
    await life.exited;
    return life.child.exitCode;
  }

  #note(line: string): void {
    this.log.push(line);
    if (this.log.length > TAIL) this.log.shift();
  }
}

function addressesIn(line: string): { readonly grpc: string; readonly http: string } | undefined {
  if (!line.startsWith('{')) return undefined;
  const entry: unknown = JSON.parse(line);
  if (typeof entry !== 'object' || entry === null || !('grpc' in entry) || !('http' in entry)) return undefined;
  return { grpc: String(entry.grpc), http: String(entry.http) };
}
