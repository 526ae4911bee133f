/** Whether a Redis can be used: looked at on every new connection. */
import { hostName } from '../address/engine-address.js';
import { storeError } from '../store/partition/failures.js';
import type { RedisAddress } from './address.js';
import type { RedisConnection } from './connection.js';

export interface ServerFacts {
  /** Another one: another server, or one that was started anew and may have lost its last moment. */
  readonly identity: string;
  /** Replicas that are connected now. */
  readonly replicas: number;
}

/** Scripts with a header are known from here on. */
const OLDEST = 7;

/**
 * @param isNode it is to be a node of a Redis Cluster; else it is to be none
 * @throws JournalError `unfit`, or `io`
 */
export async function checkServer(
  address: RedisAddress,
  connection: Pick<RedisConnection, 'ask'>,
  deadline: number,
  isNode = false,
): Promise<ServerFacts> {
  const info = new Map<string, string>();
  for (const line of String(await connection.ask(['INFO'], deadline)).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) info.set(line.slice(0, colon), line.slice(colon + 1));
  }
  const { name } = address;
  const version = info.get('redis_version') ?? '';
  if (!(Number.parseInt(version, 10) >= OLDEST)) {
    throw storeError('unfit', `${name} is Redis ${version || 'of no version'}; it has to be ${OLDEST}.0 or newer`);
  }
  const isOfCluster = info.get('cluster_enabled') === '1';
  if (isOfCluster !== isNode) throw storeError('unfit', isNode ? noNode(address) : nodeOfCluster(address));
  if (info.get('role') !== 'master') {
    // Its place in the cluster changed, and will be known in a moment.
    if (isNode) throw storeError('io', `${name} is a replica now`);
    const master = info.get('master_host');
    const where = master === undefined ? '' : `: name its master, ${master}:${info.get('master_port') ?? ''}`;
    throw storeError('unfit', `${name} is a replica, which takes no writes${where}`);
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== 'noeviction') {
    throw storeError(
      'unfit',
      `${name} has maxmemory-policy ${policy ?? 'unknown'}, which drops rows when memory is short; it has to be noeviction (CONFIG SET maxmemory-policy noeviction, and in its file)`,
    );
  }
  if (info.get('loading') === '1') throw storeError('io', `${name} still reads its file`);
  return {
    identity: `${info.get('run_id') ?? ''} ${info.get('master_replid') ?? ''}`,
    replicas: Number(info.get('connected_slaves') ?? 0),
  };
}

/** Of an address of a cluster at which there is none. */
export function noNode({ name }: Pick<RedisAddress, 'name'>): string {
  return `${name} is no node of a Redis Cluster (cluster-enabled no): the address of a Redis alone is redis://HOST[:PORT], of one behind sentinels redis+sentinel://…`;
}

function nodeOfCluster({ name, host, port, tls }: RedisAddress): string {
  return `${name} is a node of a Redis Cluster, which has a part of all keys: address the cluster, redis${tls ? 's' : ''}+cluster://${hostName({ host, port })}, with some more of its nodes behind commas`;
}
