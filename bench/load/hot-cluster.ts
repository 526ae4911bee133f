/** A cluster for one hot queue: some homes that share its parts evenly, a gateway to which the load goes, and what all of them used. */
import { connect, type Keyturn } from '@keyturn/client';
import { PartitionMap } from '../../src/cluster/partitions/partition-map.js';
import { QUEUE } from '../coordinator.js';
import { isReady } from './cluster.js';
import { type ServerProcess, startSidecar } from './server-process.js';
import { SessionStream } from './session-stream.js';
import { sayHello } from './wire.js';

/** As built in. */
const PARTITIONS = 64;

export interface HotCluster {
  /** At the gateway. */
  readonly stream: SessionStream;
  readonly gateway: ServerProcess;
  readonly homes: readonly ServerProcess[];
  stop(): Promise<void>;
}

export interface HotOptions {
  /** Of the cluster; the Redis has several. */
  readonly name: string;
  readonly homes: number;
  readonly spread: number;
}

export async function startHotCluster(store: string, { name, homes: count, spread }: HotOptions): Promise<HotCluster> {
  const options = { store, clusterName: name, queues: { [QUEUE]: { spread } } };
  const homes = await Promise.all(Array.from({ length: count }, () => startSidecar(options)));
  const gateway = await startSidecar({ ...options, weight: 0 });
  await Promise.all([...homes, gateway].map(isReady));
  await shareOut(gateway.address, homes, spread);
  const stream = new SessionStream(gateway.address);
  await sayHello(stream, 'worker-1');
  return {
    stream,
    gateway,
    homes,
    async stop() {
      stream.close();
      await Promise.all([...homes, gateway].map((one) => one.stop()));
    },
  };
}

/** By hand, each part to the home that has fewest: which member is wanted where differs from start to start. */
async function shareOut(gateway: string, homes: readonly ServerProcess[], spread: number): Promise<void> {
  const map = new PartitionMap(PARTITIONS, new Map([[QUEUE, { group: QUEUE, spread }]]));
  const shares = homes.map(({ address }) => ({ address, parts: 0 }));
  const keyturn = connect(gateway, { transport: 'unary' });
  const ids = await membersAt(keyturn, homes);
  for (const partition of map.all(QUEUE)) {
    const share = shares.reduce((best, one) => (one.parts < best.parts ? one : best));
    share.parts += map.partsIn(QUEUE, partition).length;
    await move(keyturn, partition, ids.get(share.address) ?? '');
  }
  await keyturn.close();
}

async function move(keyturn: Keyturn, partition: number, member: string): Promise<void> {
  for (;;) {
    const { state, why } = await keyturn.admin.movePartition(partition, member);
    if (state === 'moved' || state === 'already_there') return;
    if (state !== 'under_way') throw new Error(`partition ${partition} was not moved: ${state} ${why}`);
  }
}

/** When all of them are members. @returns ids by addresses */
async function membersAt(keyturn: Keyturn, homes: readonly ServerProcess[]): Promise<ReadonlyMap<string, string>> {
  for (;;) {
    const { members } = await keyturn.admin.getCluster();
    const ids = new Map(members.map(({ address, id }) => [address, id]));
    if (homes.every(({ address }) => ids.has(address))) return ids;
  }
}
