/** Where the Redis is that takes writes: at one address, or wherever sentinels say. */
import type { RedisAddress } from './address.js';

export interface RedisSource {
  /** For people: without user and password. */
  readonly name: string;
  /** It is to be a node of a Redis Cluster. Else it is to be none: there, keys of a cluster stand at several. */
  readonly isNode: boolean;
  /** @throws JournalError */
  find(deadline: number): Promise<RedisAddress>;
  /** How many replicas have to have a write, if nobody says: of so many that are connected. */
  replicasOf(connected: number): number;
  /** Called when another one takes writes now, though the one before may answer still. */
  onMoved: (() => void) | undefined;
  close(): void;
}

/** All replicas that are there: one that goes away stops all writes, and nothing else can take over anyway. */
export function oneAddress(address: RedisAddress, isNode = false): RedisSource {
  return {
    name: address.name,
    isNode,
    find: async () => address,
    replicasOf: (connected) => connected,
    onMoved: undefined,
    close: () => undefined,
  };
}
