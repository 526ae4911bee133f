/** What etcd and the network say when they fail, as errors: what is wrong, and what to do. */
import { type ServiceError, status } from '@grpc/grpc-js';
import type { JournalError } from '../../local/journal/journal.js';
import { tlsText } from '../connections/tls-text.js';
import { storeError } from '../store/partition/failures.js';
import type { EtcdAddress } from './address.js';

/** Of a call that failed. */
export function callError({ name, user, tls }: EtcdAddress, at: string, error: ServiceError): JournalError {
  const { code, details } = error;
  if (/authentication failed|user name is empty|user name not found|authentication is not enabled/.test(details))
    return storeError('unfit', loginText(name, details), error);
  if (code === status.PERMISSION_DENIED)
    return storeError(
      'unfit',
      `the user ${user ?? '(none)'} of ${name} may not use the keys of the cluster (etcdctl role grant-permission ROLE readwrite --prefix=true NAME/, with the name of the cluster)`,
      error,
    );
  if (code === status.RESOURCE_EXHAUSTED && /space exceeded/.test(details))
    return storeError(
      'full',
      `${name} has reached its quota (--quota-backend-bytes; then compact, defrag and disarm its alarm)`,
      error,
    );
  if (code === status.UNAVAILABLE || code === status.CANCELLED)
    return storeError('io', `etcd at ${at} cannot be reached: ${reasonOf(details, tls)}`, error);
  return storeError('io', `asking etcd at ${at} failed: ${details}`, error);
}

function loginText(name: string, details: string): string {
  if (/user name is empty/.test(details))
    return `${name} wants a user, and none is given (put it into the address: etcd://USER:PASSWORD@HOST)`;
  if (/not enabled/.test(details)) return `${name} knows no users, and one is given (leave it out of the address)`;
  return `${name} refuses user or password (put them into the address: etcd://USER:PASSWORD@HOST)`;
}

function reasonOf(details: string, tls: boolean): string {
  if (/ECONNREFUSED/.test(details)) return 'nothing listens there';
  if (/ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(details)) return 'no machine is known by that name';
  if (/no leader|leader changed/.test(details)) return `it has no leader now: ${details}`;
  if (/SSL|TLS|certificate|CERT/i.test(details)) return tlsText('', details);
  if (/Connection dropped|ECONNRESET|EPIPE|socket hang up/i.test(details))
    return `it closed the connection (${tls ? 'is it a port with TLS?' : 'a port with TLS wants etcds://'})`;
  return details;
}
