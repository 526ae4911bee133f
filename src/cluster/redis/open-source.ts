/** Which source an address means. */
import type { Clock } from '../../local/clock.js';
import { redisAddress } from './address.js';
import { oneAddress, type RedisSource } from './source.js';

/** @throws JournalError `unfit` */
export async function redisSource(url: string, clock: Clock): Promise<RedisSource> {
  if (!/^rediss?\+sentinel:/i.test(url)) return oneAddress(redisAddress(url));
  const { Sentinels } = await import('./sentinels.js');
  return new Sentinels(url, clock);
}
