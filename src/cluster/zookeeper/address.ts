/** `zookeeper://…`, taken apart. */
import { Buffer } from 'node:buffer';
import { type EngineHost, engineAddress } from '../address/engine-address.js';
import { ZOOKEEPER } from '../address/forms.js';
import { unfit } from './failures.js';

export interface ZooKeeperAddress {
  readonly hosts: readonly EngineHost[];
  /** USER:PASSWORD. Unset: nobody logs in, and nodes belong to everybody. */
  readonly login: Buffer | undefined;
  readonly user: string | undefined;
  /** Below which everything stands: empty, or a path that begins with a slash. */
  readonly chroot: string;
  /** For people: without user and password. */
  readonly name: string;
}

/** @throws JournalError: it is none */
export function zooKeeperAddress(url: string): ZooKeeperAddress {
  const address = engineAddress(url, [ZOOKEEPER]);
  if (typeof address === 'string') throw unfit(`the address of ZooKeeper is one ${address}`);
  const { hosts, username, password, path, name } = address;
  const chroot = path === '' ? '' : `/${path}`;
  if (username === undefined && password === undefined) {
    return { hosts, login: undefined, user: undefined, chroot, name };
  }
  if (username === undefined || username.includes(':') || password === undefined) {
    throw unfit(`${name} is given a user without a password, or a password without a user, or a user with a colon`);
  }
  return { hosts, login: Buffer.from(`${username}:${password}`), user: username, chroot, name };
}
