/** The nodes that everything stands below. */
import { Buffer } from 'node:buffer';
import type { ZooKeeperAddress } from '../../zookeeper/address.js';
import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { CODE, isCode, unfit } from '../../zookeeper/failures.js';
import { create, EVERYBODY, OWN } from '../../zookeeper/requests.js';
import type { Places } from './nodes.js';

export const EMPTY = Buffer.alloc(0);

/** Who may do anything with what is made here. */
export function aclOf({ login }: ZooKeeperAddress): typeof OWN {
  return login === undefined ? EVERYBODY : OWN;
}

/** Makes what is missing. @throws ZooKeeperError, JournalError: `unfit`, the chroot is not there */
export async function layOut(
  connection: ZooKeeperConnection,
  address: ZooKeeperAddress,
  { made, chroot }: Places,
): Promise<void> {
  for (const path of made) {
    try {
      await connection.ask(create({ path, data: EMPTY, acl: aclOf(address) }));
    } catch (error) {
      if (isCode(error, CODE.noNode) && path === made[0]) {
        throw unfit(`${address.name} has no node ${chroot} (zkCli.sh: create ${chroot})`, error);
      }
      if (!isCode(error, CODE.nodeExists)) throw error;
    }
  }
}
