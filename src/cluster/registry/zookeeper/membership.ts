import { Buffer } from 'node:buffer';
import type { ZooKeeperAddress } from '../../zookeeper/address.js';
import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { CODE, isCode, unfit, ZooKeeperError } from '../../zookeeper/failures.js';
import { check, create, firstOf, getChildren, getData, multi, setData, sync } from '../../zookeeper/requests.js';
import { type Patience, ZooKeeperSession } from '../../zookeeper/session.js';
import type { Folder } from './folder.js';
import { aclOf } from './layout.js';
import { beginOf, memberNode } from './nodes.js';

/**
 * One member: a session of its own, which its renewals keep and nothing else does, and a node that ends with it. A renewal is a write:
 * the leader looks whether the session lives before it takes one.
 */
export class Membership {
  readonly #session: ZooKeeperSession;
  #node: string | undefined;
  /** What stands there; unset: that is not known. Nobody else writes it. */
  #written: string | undefined;
  /** A node may have been made of which nothing is known here. */
  #isUnsure = false;

  constructor(
    private readonly id: string,
    private readonly address: ZooKeeperAddress,
    private readonly folder: Folder,
    patience: Patience,
    timeout: number,
  ) {
    this.#session = new ZooKeeperSession(address, { ...patience, timeout });
  }

  /** Name of its node. */
  get node(): string | undefined {
    return this.#node;
  }

  /** It is over, for good. */
  get isOver(): boolean {
    return this.#session.isOver;
  }

  /** @throws ZooKeeperError, JournalError */
  join(record: string, ttl: number): Promise<void> {
    return this.#use(ttl, async (connection) => {
      const { negotiated } = this.#session;
      if (negotiated < ttl) throw tooLong(this.address.name, ttl, negotiated);
      await this.#find(connection);
      if (this.#node === undefined || !(await this.#write(connection, record))) await this.#create(connection, record);
    });
  }

  /** @returns false: it is over; nothing of it is there any more. @throws ZooKeeperError, JournalError */
  async renew(record: string, ttl: number): Promise<boolean> {
    try {
      return await this.#use(ttl, async (connection) => {
        await this.#find(connection);
        if (this.#node === undefined) return false;
        return (await this.#isThere(connection, record)) || (await this.#write(connection, record));
      });
    } catch (error) {
      // With the node above all below it are gone.
      if (isCode(error, CODE.sessionExpired, CODE.noNode)) return false;
      throw error;
    }
  }

  /** Ends it at once. @throws JournalError: it ends by itself then */
  leave(): Promise<void> {
    return this.#session.close();
  }

  abandon(): void {
    this.#session.abandon();
  }

  #use<T>(ttl: number, task: (connection: ZooKeeperConnection) => Promise<T>): Promise<T> {
    this.#session.live(ttl);
    return this.#session.use(task);
  }

  /** After an answer that was lost: the node may be there. */
  async #find(connection: ZooKeeperConnection): Promise<void> {
    if (!this.#isUnsure) return;
    const { path } = this.folder;
    const [, { names }] = await Promise.all([connection.ask(sync(path)), connection.ask(getChildren(path))]);
    for (const name of names.filter((one) => memberNode(one)?.id === this.id)) {
      const { stat } = await connection.ask(getData(`${path}/${name}`));
      if (stat.owner === this.#session.id) this.#node = name;
    }
    this.#isUnsure = false;
  }

  async #create(connection: ZooKeeperConnection, record: string): Promise<void> {
    const path = `${this.folder.path}/${beginOf(this.id)}`;
    const data = Buffer.from(record);
    this.#isUnsure = true;
    const made = await connection.ask(create({ path, data, acl: aclOf(this.address), isSequential: true }));
    this.#node = made.slice(this.folder.path.length + 1);
    this.#written = record;
    this.#isUnsure = false;
  }

  /** Whether the node is there, with this record: asked by a write, so that it says that the session lives. */
  async #isThere(connection: ZooKeeperConnection, record: string): Promise<boolean> {
    if (this.#written !== record) return false;
    return isDone(await connection.ask(multi([check(this.#path)])));
  }

  /** @returns false: the node is gone */
  async #write(connection: ZooKeeperConnection, record: string): Promise<boolean> {
    this.#written = undefined;
    const written = await connection.ask(multi([setData(this.#path, Buffer.from(record)), this.folder.stamp]));
    if (isDone(written)) this.#written = record;
    else this.#node = undefined;
    return this.#node !== undefined;
  }

  get #path(): string {
    return `${this.folder.path}/${this.#node}`;
  }
}

/** @returns false: one of the nodes is gone. @throws ZooKeeperError: another error */
function isDone(errors: readonly number[]): boolean {
  const code = firstOf(errors);
  if (code !== undefined && code !== CODE.noNode) throw new ZooKeeperError(code, 'several writes in one step');
  return code === undefined;
}

export function tooLong(name: string, ttl: number, most: number): Error {
  return unfit(
    `${name} lets a session live for ${most} ms at most, and cluster.session is ${ttl} ms (maxSessionTimeout of the servers is twenty ticks unless it is said)`,
  );
}
