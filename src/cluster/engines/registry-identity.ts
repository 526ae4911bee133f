/** What a cluster's record says about the registry of its members: an address without user, password, TLS and the order of hosts. */
import { engineAddress, hostName } from '../address/engine-address.js';
import { REGISTRY_FORMS, STORE_FORMS } from '../address/forms.js';
import { redisAddress } from '../redis/address.js';

/** The registry is the store, whatever address leads to the store. */
export const IN_STORE = 'store';

/** @throws JournalError: one of the two is no address */
export function registryIdentity(registry: string, store: string): string {
  const identity = identityOf(registry);
  return isSameRegistry(identity, identityOf(store)) ? IN_STORE : identity;
}

/** Lists of hosts may grow and shrink while sidecars are replaced: one host in common is enough. */
export function isSameRegistry(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [partsOf(one), partsOf(other)];
  return a !== undefined && b !== undefined && a.rest === b.rest && a.hosts.some((host) => b.hosts.includes(host));
}

function identityOf(url: string): string {
  const address = engineAddress(url, [...STORE_FORMS, ...REGISTRY_FORMS]);
  if (typeof address === 'string') {
    const { host, port, database } = redisAddress(url);
    return `redis://${hostName({ host, port }).toLowerCase()}/${database}`;
  }
  const { scheme, hosts, path } = address;
  const names = hosts.map((host) => hostName(host).toLowerCase()).sort();
  return `${ENGINES.get(scheme) ?? scheme}://${names.join(',')}/${path}`;
}

/** Schemes that differ in TLS or spelling alone. */
const ENGINES: ReadonlyMap<string, string> = new Map([
  ['rediss+sentinel', 'redis+sentinel'],
  ['rediss+cluster', 'redis+cluster'],
  ['postgresql', 'postgres'],
  ['etcds', 'etcd'],
]);

function partsOf(identity: string): { readonly hosts: readonly string[]; readonly rest: string } | undefined {
  const [whole, engine, hosts = '', path] = /^([^:]+):\/\/([^/]*)\/(.*)$/.exec(identity) ?? [];
  return whole === undefined ? undefined : { hosts: hosts.split(','), rest: `${engine}/${path}` };
}
