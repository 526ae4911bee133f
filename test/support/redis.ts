/** A Redis server of the test's own: its port on loopback, its folder. It can be killed and started again. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.js';
import { GuardedProcess } from './guarded-process.js';
import { type NeededProgram, pathOf } from './needed-program.js';

export const REDIS: NeededProgram = {
  name: 'redis-server',
  install:
    'On Debian and Ubuntu: apt-get install redis-server (and, unless you want it for yourself: systemctl disable --now redis-server).',
};

/** It speaks as Redis, and is started as Redis. */
export const VALKEY: NeededProgram = {
  name: 'valkey-server',
  places: [fileURLToPath(new URL('../../../.cache/valkey/bin/valkey-server', import.meta.url))],
  install: 'With Python 3.10 or newer: .ci/python-programs puts it into .cache/valkey.',
};

/** It takes a tenth of a second on an idle machine. */
const LONGEST_START_MS = 60_000;

export interface Cleanup {
  after(task: () => Promise<void> | void): void;
}

type Settings = readonly string[] | ((port: number) => readonly string[]);

export class TestRedis {
  #process: GuardedProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly settings: readonly string[],
    private readonly program: NeededProgram,
  ) {}

  /** @param settings as on the command line; without any, nothing is kept on disk */
  static async start(cleanup: Cleanup, settings: Settings = [], program = REDIS): Promise<TestRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-redis-'));
    const port = await freePort();
    const redis = new TestRedis(port, folder, typeof settings === 'function' ? settings(port) : settings, program);
    cleanup.after(async () => {
      await redis.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Again, after {@link kill}. */
  async start(): Promise<void> {
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder, '--save', ''];
    // The only variables: no setting of this machine's own Redis counts.
    const env = { PATH: process.env['PATH'], LANG: 'C.UTF-8' };
    this.#process = new GuardedProcess(pathOf(this.program), [...own, ...this.settings], env);
    await this.#process.says(/Ready to accept connections/, LONGEST_START_MS);
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** What has reached its disk so far. @returns puts that back, as after a loss of power, while it is dead */
  async disk(): Promise<() => Promise<void>> {
    const kept = `${this.folder}-kept`;
    await cp(this.folder, kept, { recursive: true });
    return async () => {
      await rm(this.folder, { recursive: true });
      await cp(kept, this.folder, { recursive: true });
      await rm(kept, { recursive: true });
    };
  }
}
