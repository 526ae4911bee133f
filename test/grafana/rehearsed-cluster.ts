/** Two members of a cluster for a rehearsal: one dies and comes back, so that partitions change their homes in every way. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, KeyturnError } from '@keyturn/client';
import { OperatedSidecar } from '../operating/sidecar.js';
import type { Cleanup } from '../support/node-process.js';
import { TestRedis } from '../support/redis.js';
import type { Prometheus } from './prometheus.js';

const PARTITIONS = 8;
/** As many queues as partitions: some of them live at either home. */
const QUEUES = Array.from({ length: PARTITIONS }, (_, n) => `shared-${n}`);
const EVERY_MS = 250;
const LOOK_MS = 200;
const LONGEST_MS = 60_000;
const QUIET = { warn: () => undefined, info: () => undefined };

export class RehearsedCluster {
  private constructor(
    private readonly first: OperatedSidecar,
    private readonly second: OperatedSidecar,
  ) {}

  /** All partitions are those of the second one; workers ask the first. */
  static async start(cleanup: Cleanup, folder: string): Promise<RehearsedCluster> {
    const redis = await TestRedis.start(cleanup);
    // `replicas: 0`: there is no other Redis.
    const settings = { store: redis.url, cluster: { partitions: PARTITIONS, session: '1s', replicas: 0 } };
    const member = async (name: string): Promise<OperatedSidecar> => {
      mkdirSync(join(folder, name), { recursive: true });
      const sidecar = await OperatedSidecar.start({ folder: join(folder, name), settings });
      cleanup.after(() => sidecar.end());
      await eventually(`${name} is ready`, async () => (await fetch(`http://${sidecar.http}/readyz`)).ok);
      return sidecar;
    };
    const second = await member('second');
    const first = await member('first');
    startShared(cleanup, first.grpc);
    return new RehearsedCluster(first, second);
  }

  /** Their names as instances. */
  get instances(): readonly [first: string, second: string] {
    return [this.first.http, this.second.http];
  }

  /** The second one dies, the first takes its partitions, and gives some back when the second comes back. */
  async loseOne(prometheus: Prometheus): Promise<void> {
    const open = `sum(keyturn_cluster_partitions{instance="${this.first.http}", state="open"})`;
    const opened = async () => (await prometheus.query(open, Date.now() / 1_000))[0]?.points[0]?.[1];
    // A counter has to be seen before it grows.
    await eventually('Prometheus has seen the first member', async () => ((await opened()) ?? PARTITIONS) < PARTITIONS);
    await this.second.kill();
    await eventually('the first member has all partitions', async () => (await opened()) === PARTITIONS);
    await this.second.startAgain();
  }
}

/** Work that goes on while a home is away. */
function startShared(cleanup: Cleanup, address: string): void {
  const client = connect(address, { logger: QUIET });
  const stopped = new AbortController();
  for (const queue of QUEUES) client.consume(queue, () => pause(5));
  const submitting = (async () => {
    for (let round = 0; !stopped.signal.aborted; round += 1) {
      await Promise.all(QUEUES.map((queue) => client.submit(queue, { key: `k-${round % 5}` }).catch(isTrouble)));
      await pause(EVERY_MS);
    }
  })();
  cleanup.after(async () => {
    stopped.abort();
    await client.close({ timeout: 500 });
    await submitting;
  });
}

/** A home that is away; anything else is a mistake. */
function isTrouble(error: unknown): void {
  if (!(error instanceof KeyturnError)) throw error;
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + LONGEST_MS;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`this did not come to hold: ${what}`);
    await pause(LOOK_MS);
  }
}
