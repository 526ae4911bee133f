/** Which places an address means. */
import { OneRedis } from './one-redis.js';
import type { PlacesOptions, RedisPlaces } from './places.js';

/** @throws JournalError that says what is wrong and what to do */
export async function openPlaces(url: string, options: PlacesOptions): Promise<RedisPlaces> {
  if (!/^rediss?\+cluster:/i.test(url)) return OneRedis.open(url, options);
  const { RedisCluster } = await import('./redis-cluster.js');
  return RedisCluster.open(url, options);
}
