/** The sidecar of one scenario, over as many processes as it takes, with its directory, and a client that asks about it. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Keyturn, type TlsOptions } from '@keyturn/client';
import { stringify } from 'yaml';
import type { Fields } from '../fields.js';
import { SidecarProcess } from '../process/sidecar-process.js';
import type { SidecarPlan } from '../scenario/model.js';

export class Sidecar {
  #process: SidecarProcess;
  #client: Keyturn | undefined;

  private constructor(
    private readonly folder: string,
    private readonly config: string,
    private readonly tls: TlsOptions | undefined,
    process: SidecarProcess,
  ) {
    this.#process = process;
  }

  /** @param settings its YAML, with all names filled in */
  static async start(folder: string, plan: SidecarPlan, settings: Fields): Promise<Sidecar> {
    const config = join(folder, 'keyturn.yaml');
    const data = plan.data ? { data_dir: await dataFolder(folder) } : {};
    await writeFile(config, stringify({ ...settings, ...data }));
    const listen = plan.listen === 'unix' ? `unix:${join(folder, 'keyturn.sock')}` : '127.0.0.1:0';
    return new Sidecar(folder, config, tlsOf(folder, settings), await SidecarProcess.start(config, listen));
  }

  get address(): string {
    return this.#process.address;
  }

  get log(): string {
    return this.#process.log;
  }

  /** A client of the driver's own, straight to the sidecar. */
  get client(): Keyturn {
    this.#client ??= connect(this.address, { transport: 'unary', tls: this.tls });
    return this.#client;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.signal(name);
  }

  drain(): Promise<void> {
    return this.#process.drain();
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }

  get exited(): Promise<number | null> {
    return this.#process.exited;
  }

  /** On the same port. @param loses its data directory is empty then */
  async restart(loses: boolean): Promise<void> {
    if (this.#process.isRunning) await this.#process.kill();
    if (loses) await dataFolder(this.folder);
    this.#process = await SidecarProcess.start(this.config, this.address);
  }

  async close(): Promise<void> {
    await this.#client?.close();
    await this.#process.kill();
  }
}

async function dataFolder(folder: string): Promise<string> {
  const data = join(folder, 'data');
  await rm(data, { recursive: true, force: true });
  await mkdir(data);
  return data;
}

/** Of the driver's own client. */
function tlsOf(folder: string, settings: Fields): TlsOptions | undefined {
  if (settings['tls'] === undefined) return undefined;
  const file = (name: string): string => join(folder, 'certificates', name);
  return { ca: file('ca.pem'), cert: file('client.pem'), key: file('client.key') };
}
