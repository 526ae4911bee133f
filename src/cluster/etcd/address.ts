/** What `registry` says of an etcd, taken apart. */
import { type EngineHost, engineAddress } from '../address/engine-address.js';
import { REGISTRY_FORMS } from '../address/forms.js';
import { storeError } from '../store/partition/failures.js';

export interface EtcdAddress {
  /** Endpoints of one cluster of etcd. */
  readonly hosts: readonly EngineHost[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: boolean;
  /** For people: without user and password. */
  readonly name: string;
}

/** @throws JournalError `unfit`. No text has a password in it. */
export function etcdAddress(url: string): EtcdAddress {
  const address = engineAddress(url, REGISTRY_FORMS);
  if (typeof address === 'string') throw storeError('unfit', `the address of the registry is one ${address}`);
  const { hosts, username, password, scheme, name } = address;
  // Nobody would be told that nobody logs in.
  if (username === undefined && password !== undefined)
    throw storeError('unfit', `${name} is given a password without a user: etcd://USER:PASSWORD@HOST`);
  return { hosts, user: username, password, tls: scheme === 'etcds', name };
}
