/** The machines that an address names. */
import { type EngineHost, engineAddress } from '../address/engine-address.js';
import { REGISTRY_FORMS, STORE_FORMS } from '../address/forms.js';
import { redisAddress } from '../redis/address.js';

/** In the order in which they are named. @throws JournalError: it is no address */
export function hostsOf(url: string): readonly EngineHost[] {
  const address = engineAddress(url, [...STORE_FORMS, ...REGISTRY_FORMS]);
  if (typeof address !== 'string') return address.hosts;
  const { host, port } = redisAddress(url);
  return [{ host, port }];
}
