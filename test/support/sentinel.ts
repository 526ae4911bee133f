/** A Redis with replicas, and sentinels that watch over them: all on loopback, in folders of their own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawRedis } from './cluster/raw-redis.js';
import { freePort } from './free-port.js';
import { GuardedProcess } from './guarded-process.js';
import { pathOf } from './needed-program.js';
import { type Cleanup, REDIS, TestRedis } from './redis.js';

const LONGEST_START_MS = 60_000;
/** A master that says nothing for so long is down, ms. */
const DOWN_AFTER = 1_000;
const QUORUM = 2;
export const MASTER = 'shop';

export class TestSentinels {
  #killed: TestRedis | undefined;

  private constructor(
    readonly servers: readonly TestRedis[],
    readonly ports: readonly number[],
  ) {}

  /** @param settings of the servers */
  static async start(cleanup: Cleanup, replicas: number, settings: readonly string[] = []): Promise<TestSentinels> {
    const master = await TestRedis.start(cleanup, [...settings, '--repl-diskless-sync-delay', '0']);
    const servers = [master];
    for (let at = 0; at < replicas; at += 1)
      servers.push(
        await TestRedis.start(cleanup, [
          ...settings,
          '--repl-diskless-sync-delay',
          '0',
          '--replicaof',
          '127.0.0.1',
          String(master.port),
        ]),
      );
    const ports = await Promise.all([0, 1, 2].map(() => startSentinel(cleanup, master.port)));
    const sentinels = new TestSentinels(servers, ports);
    await sentinels.#settled(replicas);
    return sentinels;
  }

  /** For `store`. */
  get url(): string {
    return `redis+sentinel://${this.ports.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`;
  }

  /** The one that takes writes, as the sentinels say. */
  async master(): Promise<TestRedis> {
    const answer = await this.#ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER);
    const port = Number(Array.isArray(answer) ? answer[1] : 0);
    const found = this.servers.find((one) => one.port === port);
    if (found === undefined) throw new Error(`no server is at ${port}`);
    return found;
  }

  /** As an operator does it: the master lives. */
  async failOver(): Promise<void> {
    await this.#ask('SENTINEL', 'FAILOVER', MASTER);
  }

  /** What the one says of the master that fails it over. */
  standing(): Promise<unknown> {
    return this.#ask('SENTINEL', 'MASTER', MASTER);
  }

  /** Of all of them. */
  async set(setting: string, value: string): Promise<void> {
    for (const port of this.ports) await ask(port, 'SENTINEL', 'SET', MASTER, setting, value);
  }

  /** The master, as `kill -9`. */
  async kill(): Promise<void> {
    this.#killed = await this.master();
    await this.#killed.kill();
  }

  /** It comes back, and will be told that it is a replica. */
  async restart(): Promise<void> {
    await this.#killed?.start();
  }

  /** All sentinels see each other and the replicas: before that a failover finds nobody. */
  async #settled(replicas: number): Promise<void> {
    const giveUp = Date.now() + LONGEST_START_MS;
    for (;;) {
      const seen = await Promise.all(
        this.ports.map(async (port) => {
          const raw = await RawRedis.connect({ after: () => undefined }, port);
          const [others, known] = [
            await raw.ask('SENTINEL', 'SENTINELS', MASTER),
            await raw.ask('SENTINEL', 'REPLICAS', MASTER),
          ];
          raw.end();
          return Array.isArray(others) && others.length === 2 && Array.isArray(known) && known.length === replicas;
        }),
      );
      if (seen.every(Boolean)) return;
      if (Date.now() > giveUp) throw new Error('the sentinels do not see each other');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #ask(...words: string[]): Promise<unknown> {
    return ask(this.ports[0] ?? 0, ...words);
  }
}

async function ask(port: number, ...words: string[]): Promise<unknown> {
  const raw = await RawRedis.connect({ after: () => undefined }, port);
  try {
    return await raw.ask(...words);
  } finally {
    raw.end();
  }
}

async function startSentinel(cleanup: Cleanup, master: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-sentinel-'));
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${master} ${QUORUM}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER}`,
    `sentinel failover-timeout ${MASTER} 5000`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const env = { PATH: process.env['PATH'], LANG: 'C.UTF-8' };
  const sentinel = new GuardedProcess(pathOf(REDIS), [file, '--sentinel'], env);
  cleanup.after(async () => {
    await sentinel.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  await sentinel.says(/\+monitor master/, LONGEST_START_MS);
  return port;
}
