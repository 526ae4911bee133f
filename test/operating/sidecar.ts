/** A sidecar as an operator runs it: a process that can be ended, frozen, and started again at the same addresses. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { MAIN, SHIPPED_MAIN } from '../support/main.js';

/** Its own settings only: not those of the machine that runs this. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_'))),
  // Nobody looks.
  KEYTURN_CONSOLE_LISTEN: 'off',
};
const REMEMBERED_LINES = 50;

export interface SidecarPlan {
  /** Its settings are written there. */
  readonly folder: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Default: a free port of loopback, the same one in every life. */
  readonly listen?: string;
  readonly httpListen?: string;
  /** Words before the program and its arguments: what it is run by. */
  readonly runBy?: readonly string[];
  /** A module that Node loads before, and that changes modules of the sidecar. */
  readonly preload?: string;
}

export class OperatedSidecar {
  /** The end of what it logged, over all lives. */
  readonly log: string[] = [];
  #grpc: string;
  #http: string;
  #child: ChildProcess | undefined;
  readonly #killAtExit = () => this.#child?.kill('SIGKILL');

  private constructor(private readonly plan: SidecarPlan) {
    this.#grpc = plan.listen ?? '127.0.0.1:0';
    this.#http = plan.httpListen ?? '127.0.0.1:0';
    process.once('exit', this.#killAtExit);
  }

  /** Resolves when it listens, which may be before it has read its data directory. */
  static async start(plan: SidecarPlan): Promise<OperatedSidecar> {
    const sidecar = new OperatedSidecar(plan);
    await sidecar.startAgain();
    return sidecar;
  }

  get grpc(): string {
    return this.#grpc;
  }

  get http(): string {
    return this.#http;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async startAgain(): Promise<void> {
    const { folder, settings, runBy = [], preload } = this.plan;
    const config = join(folder, 'keyturn.yaml');
    // JSON is YAML.
    writeFileSync(config, JSON.stringify(settings));
    const listen = ['--listen', this.#grpc, '--http-listen', this.#http];
    // In a bundle it would find no module to change.
    const main = preload === undefined ? [MAIN] : ['--import', preload, SHIPPED_MAIN];
    const [program = '', ...args] = [...runBy, process.execPath, ...main, 'serve', '--config', config, ...listen];
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT });
    this.#child = child;
    await this.#untilListening(child);
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** SIGKILL. Resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** For good. */
  async end(): Promise<void> {
    await this.kill();
    process.off('exit', this.#killAtExit);
  }

  #untilListening(child: ChildProcessByStdio<null, null, Readable>): Promise<void> {
    return new Promise((resolve, reject) => {
      const lines = createInterface({ input: child.stderr });
      lines.on('line', (line) => {
        this.log.push(line);
        if (this.log.length > REMEMBERED_LINES) this.log.shift();
        const addresses = addressesIn(line);
        if (addresses === undefined) return;
        this.#grpc = addresses.grpc;
        this.#http = addresses.http;
        resolve();
      });
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`the sidecar ended before it listened:\n${this.log.join('\n')}`)));
    });
  }
}

function addressesIn(line: string): { readonly grpc: string; readonly http: string } | undefined {
  if (!line.includes('"listening"')) return undefined;
  const said: unknown = JSON.parse(line);
  if (typeof said !== 'object' || said === null || !('grpc' in said) || !('http' in said)) return undefined;
  return { grpc: String(said.grpc), http: String(said.http) };
}
