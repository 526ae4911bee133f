/** The sidecars of a rehearsal of alerts, each started when the first cause asks for it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Keyturn, type TlsOptions } from '@keyturn/client';
import type { Cleanup } from '../cli/keyturn-process.js';
import { Device } from '../crash/device.js';
import { startLoad } from '../load/load.js';
import { loadSettings } from '../load/settings.js';
import { Authority, type Pair } from '../support/certificates.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { TestRedis } from '../support/redis.js';
import { OperatedSidecar, type SidecarPlan } from './sidecar.js';

/** Each alert of a queue has a queue of its own, so that the load beside it does not set it off. */
const CAUSE_QUEUES = {
  stuck: {},
  dying: { lease: '200ms', retry: { max_attempts: 1_000, initial: '10ms', factor: 1, max: '10ms', jitter: 'none' } },
  stale: {},
  poisoned: { on_dead_letter: 'park' },
  narrow: { max_waiting: 1 },
} as const;

const FAILING_INSIDE = new URL('./failing-inside.js', import.meta.url).href;

export interface Rehearsed {
  readonly sidecar: OperatedSidecar;
  readonly client: Keyturn;
  /** Of one with a device of its own. */
  readonly device?: Device;
  readonly certificates?: CertificateFiles;
  /** Of one in a cluster: another one, which is the home of partitions. */
  readonly home?: OperatedSidecar;
  readonly redis?: ForgetfulRedis;
}

/** It keeps what it was told to keep, and nothing else. */
class ForgetfulRedis {
  private constructor(
    private readonly redis: TestRedis,
    private readonly cleanup: Cleanup,
  ) {}

  static async start(cleanup: Cleanup): Promise<ForgetfulRedis> {
    return new ForgetfulRedis(await TestRedis.start(cleanup), cleanup);
  }

  get url(): string {
    return this.redis.url;
  }

  async save(): Promise<void> {
    const person = await RawRedis.connect(this.cleanup, this.redis.port);
    await person.ask('SAVE');
  }

  /** It is there again at once, with what was saved. */
  async crash(): Promise<void> {
    await this.redis.kill();
    await this.redis.start();
  }
}

/** A certificate and its key in files that a sidecar reads. */
export class CertificateFiles {
  private constructor(
    readonly cert: string,
    readonly key: string,
    readonly client: TlsOptions,
    private readonly authority: Authority,
  ) {}

  static async make(folder: string, endsIn: number): Promise<CertificateFiles> {
    const authority = await Authority.make('Keyturn rehearsal');
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, authority.cert);
    const files = new CertificateFiles(join(folder, 'tls.crt'), join(folder, 'tls.key'), { ca }, authority);
    await files.replace(endsIn);
    return files;
  }

  /** @param endsIn ms; it began a day ago */
  async replace(endsIn: number): Promise<void> {
    const pair: Pair = await this.authority.issue({ name: 'server', use: 'server', endsIn });
    writeFileSync(this.cert, pair.cert);
    writeFileSync(this.key, pair.key);
  }
}

export const FOUR_HOURS = 4 * 3_600_000;

type Maker = (folder: string, cleanup: Cleanup) => Promise<Rehearsed>;
type Differs = Partial<Pick<SidecarPlan, 'runBy' | 'preload'>> & {
  readonly settings?: object;
  readonly tls?: TlsOptions;
};

/** `slower` unset: without load. */
async function start(
  folder: string,
  cleanup: Cleanup,
  slower: number | undefined,
  { settings = {}, tls, ...more }: Differs = {},
): Promise<Rehearsed> {
  const own = { ...loadSettings({ dataDir: join(folder, 'data'), queues: CAUSE_QUEUES }), ...settings };
  const sidecar = await OperatedSidecar.start({ folder, settings: own, ...more });
  cleanup.after(() => sidecar.end());
  const client = connect(sidecar.grpc, { transport: 'unary', tls });
  cleanup.after(() => client.close({ timeout: 0 }));
  if (slower !== undefined) {
    const load = startLoad(sidecar.grpc, { slower, tls });
    cleanup.after(() => load.stop());
  }
  return { sidecar, client };
}

async function withDevice(folder: string, cleanup: Cleanup): Promise<Rehearsed> {
  const device = await Device.make(cleanup, 'size=64m');
  const settings = { data_dir: join(device.directory, 'data') };
  return { ...(await start(folder, cleanup, 8, { settings, runBy: device.runBy })), device };
}

/** Without load: there is nothing to be seen under it. */
async function inCluster(folder: string, cleanup: Cleanup, own: object, withHome: boolean): Promise<Rehearsed> {
  const redis = await ForgetfulRedis.start(cleanup);
  const member = async (name: string, cluster: object) => {
    const at = join(folder, name);
    mkdirSync(at);
    // `replicas: 0`: a Redis alone is what this is about.
    const settings = { store: redis.url, cluster: { partitions: 4, session: '1s', replicas: 0, ...cluster } };
    const sidecar = await OperatedSidecar.start({
      folder: at,
      settings: { ...settings, queues: { orders: { durable: true }, narrow: { durable: true, max_waiting: 1 } } },
    });
    cleanup.after(() => sidecar.end());
    return sidecar;
  };
  const home = withHome ? await member('home', {}) : undefined;
  const sidecar = await member('own', own);
  const client = connect(sidecar.grpc, { transport: 'unary' });
  cleanup.after(() => client.close({ timeout: 0 }));
  return { sidecar, client, redis, ...(home && { home }) };
}

const MAKERS = {
  /** The one that most causes are brought about at. */
  busy: (folder, cleanup) => start(folder, cleanup, 2),
  gone: (folder, cleanup) => start(folder, cleanup, 8),
  frozen: (folder, cleanup) => start(folder, cleanup, 8),
  full: withDevice,
  gateway: (folder, cleanup) => inCluster(folder, cleanup, { weight: 0 }, true),
  home: (folder, cleanup) => inCluster(folder, cleanup, {}, false),
  flapped: (folder, cleanup) => inCluster(folder, cleanup, {}, true),
  holding: (folder, cleanup) => inCluster(folder, cleanup, {}, false),
  filling: withDevice,
  tls: async (folder, cleanup) => {
    const certificates = await CertificateFiles.make(folder, FOUR_HOURS);
    const { cert, key, client: tls } = certificates;
    const more = { settings: { tls: { cert, key } }, tls, preload: FAILING_INSIDE };
    return { ...(await start(folder, cleanup, 8, more)), certificates };
  },
} satisfies Readonly<Record<string, Maker>>;

export type SidecarName = keyof typeof MAKERS;

export class RehearsedSidecars {
  readonly #made = new Map<SidecarName, Promise<Rehearsed>>();

  constructor(
    private readonly folder: string,
    private readonly cleanup: Cleanup,
  ) {}

  get(name: SidecarName): Promise<Rehearsed> {
    const made = this.#made.get(name) ?? this.#make(name);
    this.#made.set(name, made);
    return made;
  }

  /** Those that were made. */
  all(): Promise<readonly Rehearsed[]> {
    return Promise.all(this.#made.values());
  }

  async #make(name: SidecarName): Promise<Rehearsed> {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    return MAKERS[name](folder, this.cleanup);
  }
}
