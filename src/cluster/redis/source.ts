/** Where the Redis is that takes writes: at one address, or wherever sentinels say. */
import type { RedisAddress } from './address.js';

export interface RedisSource {
  /** For people: without user and password. */
  readonly name: string;
  /** @throws JournalError */
  find(deadline: number): Promise<RedisAddress>;
  /** How many replicas have to have a write, if nobody says: of so many that are connected. */
  replicasOf(connected: number): number;
  /** Called when another one takes writes now, though the one before may answer still. */
  onMoved: (() => void) | undefined;
  close(): void;
}

/** All replicas that are there: one that goes away stops all writes, and nothing else can take over anyway. */
export function oneAddress(address: RedisAddress): RedisSource {
  return {
    name: address.name,
    find: async () => address,
    replicasOf: (connected) => connected,
    onMoved: undefined,
    close: () => undefined,
  };
}
