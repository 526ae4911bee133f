/** A cluster's place in a real ZooKeeper, and ZooKeeper as a person has it. */
import { after, before } from 'node:test';
import { type ZooKeeperAddress, zooKeeperAddress } from '../../src/cluster/zookeeper/address.js';
import { CODE, isCode } from '../../src/cluster/zookeeper/failures.js';
import { getChildren, type Request, remove } from '../../src/cluster/zookeeper/requests.js';
import { ZooKeeperSession } from '../../src/cluster/zookeeper/session.js';
import { systemClock } from '../../src/local/clock.js';
import type { Cleanup } from '../support/redis.js';
import { TestZooKeeper } from '../support/zookeeper.js';
import { ProxiedScene } from './proxied-scene.js';

/** What a test asks has as much time as it wants, ms. */
const PATIENCE = 60_000;

/** One server for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedZooKeeper(): () => TestZooKeeper {
  const cleanups: (() => Promise<void> | void)[] = [];
  let server: TestZooKeeper | undefined;
  before(async () => {
    server = await TestZooKeeper.start({ after: (task) => void cleanups.push(task) });
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  return () => {
    if (server === undefined) throw new Error('the tests of this suite have not begun');
    return server;
  };
}

/** By a session of its own, with all the time it needs. */
export class RawZooKeeper {
  readonly address: ZooKeeperAddress;
  readonly #session: ZooKeeperSession;

  constructor(cleanup: Cleanup, url: string) {
    this.address = zooKeeperAddress(url);
    const patience = { clock: systemClock, deadline: PATIENCE };
    this.#session = new ZooKeeperSession(this.address, { ...patience, timeout: PATIENCE, isLasting: true });
    cleanup.after(() => this.#session.abandon());
  }

  ask<T>(request: Request<T>): Promise<T> {
    return this.#session.use((connection) => connection.ask(request));
  }

  /** Names of nodes below this one; none, if it is not there. */
  async names(path: string): Promise<readonly string[]> {
    try {
      return (await this.ask(getChildren(path))).names;
    } catch (error) {
      if (isCode(error, CODE.noNode)) return [];
      throw error;
    }
  }

  /** This node, and all below it. */
  async removeAll(path: string): Promise<void> {
    for (const name of await this.names(path)) await this.removeAll(`${path}/${name}`);
    await this.ask(remove(path)).catch((error: unknown) => {
      if (!isCode(error, CODE.noNode)) throw error;
    });
  }
}

export class ZooKeeperScene<T extends object> extends ProxiedScene<T> {
  readonly raw: RawZooKeeper;

  constructor(cleanup: Cleanup, server: TestZooKeeper) {
    super(cleanup, [server.port], (at) => `zookeeper://127.0.0.1:${at}`);
    this.raw = new RawZooKeeper(cleanup, server.url);
  }
}
