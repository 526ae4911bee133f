import { Buffer } from 'node:buffer';
import { storeError } from '../../store/partition/failures.js';
import type { ZooKeeperAddress } from '../../zookeeper/address.js';
import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { CODE, ZooKeeperError } from '../../zookeeper/failures.js';
import { create, type Found, firstOf, multi, type Operation, setData, sync } from '../../zookeeper/requests.js';
import { homeOf } from '../records.js';
import type { HomeEntry } from '../registry.js';
import { Folder } from './folder.js';
import { aclOf, EMPTY } from './layout.js';

/** How often others may come in between. Each that does has written something. */
const MOST_TRIES = 20;
/** Written in one step: a large one would hold up all of ZooKeeper. */
const AT_ONCE = 64;

/** Who the home of each partition is: a node each. */
export class KeptHomes {
  readonly #folder: Folder;

  constructor(
    path: string,
    private readonly address: ZooKeeperAddress,
  ) {
    this.#folder = new Folder(path, EMPTY);
  }

  /** In the order of partitions. @throws ZooKeeperError, JournalError */
  async all(connection: ZooKeeperConnection): Promise<readonly HomeEntry[]> {
    const { records } = await this.#folder.read(connection, (names) => names);
    return [...records.values()].flatMap(entryOf).sort((a, b) => a.partition - b.partition);
  }

  /** What stands with a larger epoch stays. @throws ZooKeeperError, JournalError */
  async publish(connection: ZooKeeperConnection, homes: readonly HomeEntry[]): Promise<void> {
    for (let from = 0; from < homes.length; from += AT_ONCE)
      await this.#some(connection, homes.slice(from, from + AT_ONCE));
  }

  async #some(connection: ZooKeeperConnection, homes: readonly HomeEntry[]): Promise<void> {
    for (let tried = 0; tried < MOST_TRIES; tried += 1) {
      // What came in between may not have reached this server yet.
      if (tried > 0) await connection.ask(sync(this.#folder.path));
      const names = new Set(homes.map(({ partition }) => String(partition)));
      const { records } = await this.#folder.read(connection, (there) => there.filter((name) => names.has(name)));
      const writes = this.#writes(homes, records);
      if (writes.length === 0) return;
      const code = firstOf(await connection.ask(multi([...writes, this.#folder.stamp])));
      if (code === undefined) return;
      if (code !== CODE.badVersion && code !== CODE.nodeExists)
        throw new ZooKeeperError(code, 'write homes of partitions');
    }
    throw storeError('io', `${this.address.name}: others wrote the same homes ${MOST_TRIES} times meanwhile`);
  }

  #writes(homes: readonly HomeEntry[], records: ReadonlyMap<string, Found>): readonly Operation[] {
    const newest = new Map<number, HomeEntry>();
    for (const home of homes) {
      if (home.epoch >= (newest.get(home.partition)?.epoch ?? home.epoch)) newest.set(home.partition, home);
    }
    return [...newest.values()].flatMap((home) => this.#write(home, records.get(String(home.partition))) ?? []);
  }

  /** @returns undefined: it stands as it should */
  #write(home: HomeEntry, found: Found | undefined): Operation | undefined {
    const data = Buffer.from(`${home.epoch} ${JSON.stringify(home)}`);
    const path = `${this.#folder.path}/${home.partition}`;
    if (found === undefined) return create({ path, data, acl: aclOf(this.address) });
    const [stands] = entryOf(found);
    if (found.data.equals(data) || (stands !== undefined && stands.epoch > home.epoch)) return undefined;
    return setData(path, data, found.stat.version);
  }
}

function entryOf({ data }: Found): readonly HomeEntry[] {
  const home = homeOf(data.toString());
  return home === undefined ? [] : [home];
}
