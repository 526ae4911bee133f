/** An etcd of the test's own, of one member or more: their ports on loopback, their folders. Each can be killed, stopped and started again. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { GuardedProcess } from './guarded-process.js';
import { type NeededProgram, pathOf } from './needed-program.js';
import type { Cleanup } from './redis.js';

export const ETCD: NeededProgram = {
  name: 'etcd',
  install:
    'On Debian and Ubuntu: apt-get install etcd-server (and, unless you want it for yourself: systemctl disable --now etcd).',
};

export const ETCDCTL: NeededProgram = {
  name: 'etcdctl',
  install: 'On Debian and Ubuntu: apt-get install etcd-client.',
};

const LONGEST_START_MS = 120_000;
/** Ready, in the versions of this decade. */
const READY = /ready to serve client requests|serving (insecure )?client requests/;

interface Place {
  readonly name: string;
  readonly port: number;
  readonly peerPort: number;
}

export class TestEtcd {
  #process: GuardedProcess | undefined;
  #pid = 0;

  private constructor(
    private readonly place: Place,
    private readonly all: readonly Place[],
    private readonly folder: string,
  ) {}

  static async start(cleanup: Cleanup): Promise<TestEtcd> {
    const [only] = await TestEtcd.several(cleanup, 1);
    if (only === undefined) throw new Error('one was started');
    return only;
  }

  /** So many as one cluster. */
  static async several(cleanup: Cleanup, count: number): Promise<readonly TestEtcd[]> {
    const places: Place[] = [];
    for (let at = 0; at < count; at += 1)
      places.push({ name: `e${at}`, port: await freePort(), peerPort: await freePort() });
    const all: TestEtcd[] = [];
    for (const place of places) {
      const folder = await mkdtemp(join(tmpdir(), 'keyturn-etcd-'));
      const etcd = new TestEtcd(place, places, folder);
      all.push(etcd);
      cleanup.after(async () => {
        await etcd.kill();
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      });
    }
    await Promise.all(all.map((etcd) => etcd.start()));
    return all;
  }

  get port(): number {
    return this.place.port;
  }

  /** Again, after {@link kill}. */
  async start(): Promise<void> {
    const { name, port, peerPort } = this.place;
    const at = (of: number) => `http://127.0.0.1:${of}`;
    const args = {
      name,
      'data-dir': join(this.folder, 'data'),
      'listen-client-urls': at(port),
      'advertise-client-urls': at(port),
      'listen-peer-urls': at(peerPort),
      'initial-advertise-peer-urls': at(peerPort),
      'initial-cluster': this.all.map((one) => `${one.name}=${at(one.peerPort)}`).join(','),
      'initial-cluster-state': 'new',
      'initial-cluster-token': `keyturn-${this.all[0]?.peerPort}`,
      'heartbeat-interval': '100',
      'election-timeout': '1000',
    };
    const flags = Object.entries(args).map(([flag, value]) => `--${flag}=${value}`);
    // The only variables: no setting of this machine's own etcd counts.
    const shell = ['-c', 'echo "pid $$"; exec "$@"', 'sh', pathOf(ETCD)];
    const started = new GuardedProcess('sh', [...shell, ...flags], { PATH: process.env['PATH'], LANG: 'C.UTF-8' });
    this.#process = started;
    const said = started.says(/^pid \d+$/, LONGEST_START_MS);
    await Promise.all([said, started.says(READY, LONGEST_START_MS)]);
    this.#pid = Number((await said).slice('pid '.length));
  }

  /** SIGSTOP, SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#pid, signal);
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }
}
