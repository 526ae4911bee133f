import type { Buffer } from 'node:buffer';
import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { CODE, isCode } from '../../zookeeper/failures.js';
import { type Found, getChildren, getData, type Operation, setData } from '../../zookeeper/requests.js';

interface Contents {
  /** All that stand there, in no order. */
  readonly names: readonly string[];
  /** What was wanted of them, by name. */
  readonly records: ReadonlyMap<string, Found>;
}

interface Known {
  readonly connection: ZooKeeperConnection;
  readonly mzxid: bigint;
  readonly records: ReadonlyMap<string, Found>;
}

/** Asked for at once. */
const AT_ONCE = 128;

/**
 * What stands below a node. Whoever changes a record writes the node above too, in the same step ({@link Folder.stamp}). So who knows
 * the last of these writes knows all records, and reading again is one request, however many records and readers there are.
 */
export class Folder {
  #known: Known | undefined;

  constructor(
    readonly path: string,
    /** An empty one. */
    private readonly nothing: Buffer,
  ) {}

  /** To be done together with each change of a record. */
  get stamp(): Operation {
    return setData(this.path, this.nothing);
  }

  /**
   * @param wanted of all names those whose records are read
   * @throws ZooKeeperError `noNode`: it is not there; JournalError
   */
  async read(
    connection: ZooKeeperConnection,
    wanted: (names: readonly string[]) => readonly string[],
  ): Promise<Contents> {
    const { names, stat } = await connection.ask(getChildren(this.path));
    const known = this.#known;
    // What was read by another connection may be newer than this server.
    const isKnown = known?.connection === connection && known.mzxid === stat.mzxid;
    const all = wanted(names);
    const records = new Map<string, Found>();
    const missing: string[] = [];
    for (const name of all) {
      const found = isKnown ? known.records.get(name) : undefined;
      if (found === undefined) missing.push(name);
      else records.set(name, found);
    }
    for (let from = 0; from < missing.length; from += AT_ONCE) {
      await Promise.all(missing.slice(from, from + AT_ONCE).map((name) => this.#readOne(connection, name, records)));
    }
    this.#known = { connection, mzxid: stat.mzxid, records };
    return { names, records };
  }

  async #readOne(connection: ZooKeeperConnection, name: string, records: Map<string, Found>): Promise<void> {
    try {
      records.set(name, await connection.ask(getData(`${this.path}/${name}`)));
    } catch (error) {
      // It ended meanwhile.
      if (!isCode(error, CODE.noNode)) throw error;
    }
  }
}
