/** ZooKeeper servers of the test's own: their ports on loopback, their folder. They can be killed, stopped and started again. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { GuardedProcess } from './guarded-process.js';
import { type NeededProgram, pathOf } from './needed-program.js';
import type { Cleanup } from './redis.js';

export const JAVA: NeededProgram = {
  name: 'java',
  install: 'On Debian and Ubuntu: apt-get install openjdk-17-jre-headless.',
};

/** A library, which java runs. */
export const ZOOKEEPER: NeededProgram = {
  name: 'zookeeper.jar',
  places: ['/usr/share/java/zookeeper.jar'],
  isRead: true,
  install: 'On Debian and Ubuntu: apt-get install libzookeeper-java.',
};

const LOG = '/usr/share/java/slf4j-simple.jar';
/** It takes a second on an idle machine. */
const LONGEST_START_MS = 60_000;
/** It answers a question about itself in less, or does not serve, ms. */
const QUICK = 2_000;
/** Of the servers, ms: their unit of time. */
export const TICK = 200;

/** Small, and quick to start: what a test asks of it is little. */
const JAVA_OPTIONS = ['-Xmx96m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.jmx.log4j.disable=true'];

/** Nothing is kept beyond the test, so nothing has to be on the disk before it is answered. */
const SETTINGS = {
  tickTime: TICK,
  initLimit: 50,
  syncLimit: 5,
  maxClientCnxns: 0,
  maxSessionTimeout: 700_000,
  forceSync: 'no',
  preAllocSize: 512,
  'admin.enableServer': false,
};

/** What it says when it runs. */
const ALONE = /PrepRequestProcessor .* started/;
const ONE_OF_SEVERAL = /binding to port/;

type Settings = Readonly<Record<string, string | number | boolean>>;

export class TestZooKeeper {
  #process: GuardedProcess | undefined;
  #pid = 0;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    /** Of an ensemble, from 1; 0: it is alone. */
    private readonly number: number,
  ) {}

  static async start(cleanup: Cleanup, settings: Settings = {}): Promise<TestZooKeeper> {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-zookeeper-'));
    const server = new TestZooKeeper(await freePort(), folder, 0);
    cleanup.after(() => server.#end());
    await server.#configure(settings);
    await server.start();
    return server;
  }

  /** Several that are one. Resolves when they run, which is before they have a leader. */
  static async ensemble(cleanup: Cleanup, count: number, settings: Settings = {}): Promise<readonly TestZooKeeper[]> {
    const servers: TestZooKeeper[] = [];
    const all: Record<string, string> = {};
    for (let number = 1; number <= count; number += 1) {
      const folder = await mkdtemp(join(tmpdir(), 'keyturn-zookeeper-'));
      const server = new TestZooKeeper(await freePort(), folder, number);
      cleanup.after(() => server.#end());
      all[`server.${number}`] = `127.0.0.1:${await freePort()}:${await freePort()}`;
      servers.push(server);
    }
    for (const server of servers) await server.#configure({ ...settings, ...all });
    await Promise.all(servers.map((server) => server.start()));
    return servers;
  }

  get url(): string {
    return `zookeeper://127.0.0.1:${this.port}`;
  }

  /** Again, after {@link kill}. */
  async start(): Promise<void> {
    const options = [...JAVA_OPTIONS, '-Dorg.slf4j.simpleLogger.logFile=System.out'];
    const path = `${pathOf(ZOOKEEPER)}:${LOG}`;
    const main = ['-cp', path, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', join(this.folder, 'zoo.cfg')];
    const env = { PATH: process.env['PATH'], LANG: 'C.UTF-8' };
    const shell = ['-c', 'echo "pid $$"; exec "$@"', 'sh', pathOf(JAVA)];
    const server = new GuardedProcess('sh', [...shell, ...options, ...main], env);
    this.#process = server;
    const said = server.says(/^pid \d+$/, LONGEST_START_MS);
    await Promise.all([said, server.says(this.number === 0 ? ALONE : ONE_OF_SEVERAL, LONGEST_START_MS)]);
    this.#pid = Number((await said).slice('pid '.length));
  }

  /** Again, as one that was set up anew: it knows nothing. */
  async startAnew(): Promise<void> {
    await this.kill();
    await rm(join(this.folder, 'data', 'version-2'), { recursive: true });
    await this.start();
  }

  /** What it says of itself now: `leader`, `follower`, `standalone`; undefined: it does not serve. */
  async mode(): Promise<string | undefined> {
    const socket = connect({ host: '127.0.0.1', port: this.port });
    let said = '';
    socket.on('data', (bytes) => {
      said += bytes.toString();
    });
    socket.end('srvr');
    socket.on('error', () => undefined);
    // One that is stopped takes the connection and says nothing.
    socket.setTimeout(QUICK, () => socket.destroy());
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return /^Mode: (\w+)$/m.exec(said)?.[1];
  }

  /** SIGSTOP, SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#pid, signal);
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async #configure(settings: Settings): Promise<void> {
    const data = join(this.folder, 'data');
    await mkdir(data);
    if (this.number > 0) await writeFile(join(data, 'myid'), String(this.number));
    const own = { dataDir: data, clientPort: this.port, clientPortAddress: '127.0.0.1' };
    const lines = Object.entries({ ...SETTINGS, ...own, ...settings }).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(this.folder, 'zoo.cfg'), lines.join(''));
  }

  async #end(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
