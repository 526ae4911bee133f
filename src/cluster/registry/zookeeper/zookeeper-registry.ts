import { type Clock, systemClock } from '../../../local/clock.js';
import { type ZooKeeperAddress, zooKeeperAddress } from '../../zookeeper/address.js';
import type { ZooKeeperConnection } from '../../zookeeper/connection.js';
import { asJournalError, CODE, isCode } from '../../zookeeper/failures.js';
import { getChildren, remove, sync } from '../../zookeeper/requests.js';
import { type Patience, ZooKeeperSession } from '../../zookeeper/session.js';
import { memberOf } from '../records.js';
import type { HomeEntry, Member, Registry } from '../registry.js';
import { Folder } from './folder.js';
import { KeptHomes } from './kept-homes.js';
import { EMPTY, layOut } from './layout.js';
import { Membership, tooLong } from './membership.js';
import { memberNode, membersAmong, type Places, placesOf } from './nodes.js';
import { Watching } from './watching.js';

interface ZooKeeperRegistryOptions {
  /** Of the cluster: everything stands below a node with this name. */
  readonly cluster: string;
  /** How long a member's session is going to be, ms. Unset: it is looked at when it joins. */
  readonly session?: number;
  /** A request has its answer after this, or its outcome is unknown, ms. Well below the time of a session. */
  readonly deadline?: number;
  /** The same for the first connection, if that is more. */
  readonly startDeadline?: number;
  readonly clock?: Clock;
}

const DEADLINE = 500;
const START_DEADLINE = 5_000;
/** Of who reads, ms. Nothing ends with it. */
const READING = 10_000;
/** Members that are listed at most. */
const MOST_MEMBERS = 1_000;

/**
 * Opens the registry of a cluster in a ZooKeeper. Each member has a session of its own, beside the one that everything is read by.
 *
 * @throws JournalError that says what is wrong and what to do
 */
export async function openZooKeeperRegistry(url: string, options: ZooKeeperRegistryOptions): Promise<Registry> {
  const { cluster, session = READING, deadline = DEADLINE, clock = systemClock } = options;
  const address = zooKeeperAddress(url);
  const registry = new ZooKeeperRegistry(address, placesOf(address.chroot, cluster), { deadline, clock }, session);
  try {
    await registry.begin(Math.max(deadline, options.startDeadline ?? START_DEADLINE), options.session);
    return registry;
  } catch (error) {
    await registry.close();
    throw error;
  }
}

class ZooKeeperRegistry implements Registry {
  readonly name: string;
  caution: string | undefined;
  onChange: (() => void) | undefined;
  readonly #reading: ZooKeeperSession;
  readonly #folder: Folder;
  readonly #homes: KeptHomes;
  readonly #watching: Watching;
  /** Those that joined here, the last one last. */
  readonly #joined = new Map<string, Membership>();

  constructor(
    private readonly address: ZooKeeperAddress,
    private readonly places: Places,
    private readonly patience: Patience,
    timeout: number,
  ) {
    this.name = address.name;
    this.#folder = new Folder(places.members, EMPTY);
    this.#homes = new KeptHomes(places.homes, address);
    this.#watching = new Watching(places.members, () => this.onChange?.());
    const onNotice = (path: string) => this.#watching.noticed(path);
    this.#reading = new ZooKeeperSession(address, { ...patience, timeout, isLasting: true, onNotice });
  }

  /** @throws JournalError: it cannot be used */
  async begin(deadline: number, session: number | undefined): Promise<void> {
    await this.#tell(() => this.#layOut(deadline));
    const { negotiated } = this.#reading;
    if (session === undefined) return;
    if (negotiated < session) throw tooLong(this.name, session, negotiated);
    if (negotiated > session) {
      this.caution = `${this.name} lets no session be shorter than ${negotiated} ms (minSessionTimeout of its servers is two ticks unless it is said): a member that dies is noticed after that, not after cluster.session, ${session} ms`;
    }
  }

  async join(member: Member, ttl: number): Promise<void> {
    const record = JSON.stringify(member);
    await this.#tell(async () => {
      try {
        await this.#membership(member.id, ttl).join(record, ttl);
      } catch (error) {
        if (isCode(error, CODE.noNode)) await this.#layOut();
        else if (!isCode(error, CODE.sessionExpired)) throw error;
        // It is begun again: what it would be below is there now, or its session was over before.
        await this.#membership(member.id, ttl).join(record, ttl);
      }
    });
  }

  async renew(member: Member, ttl: number): Promise<boolean> {
    const membership = this.#joined.get(member.id);
    if (membership === undefined) return false;
    return this.#tell(async () => {
      if (await membership.renew(JSON.stringify(member), ttl)) return true;
      this.#forget(member.id, membership);
      // Its node is gone: nothing of the session is wanted.
      await membership.leave();
      return false;
    });
  }

  async leave(id: string): Promise<void> {
    const membership = this.#joined.get(id);
    await this.#tell(async () => {
      if (membership === undefined) return this.#reading.use((connection) => this.#removeAll(connection, id));
      await membership.leave();
      this.#forget(id, membership);
    });
  }

  members(): Promise<readonly Member[]> {
    return this.#orNothing<readonly Member[]>([], async (connection) => {
      const { path } = this.#folder;
      // Both are on their way at once, in this order.
      const wanted = (names: readonly string[]) => membersAmong(names, MOST_MEMBERS).map(({ name }) => name);
      const [, { names, records }] = await Promise.all([
        connection.ask(sync(path)),
        this.#folder.read(connection, wanted),
      ]);
      if (this.onChange !== undefined) this.#watching.look(connection, this.#own, names);
      return [...records.values()]
        .flatMap(({ data }) => memberOf(data.toString()) ?? [])
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    });
  }

  async publish(homes: readonly HomeEntry[]): Promise<void> {
    if (homes.length === 0) return;
    const write = () => this.#reading.use((connection) => this.#homes.publish(connection, homes));
    await this.#tell(async () => {
      try {
        await write();
      } catch (error) {
        if (!isCode(error, CODE.noNode)) throw error;
        await this.#layOut();
        await write();
      }
    });
  }

  homes(): Promise<readonly HomeEntry[]> {
    return this.#orNothing([], (connection) => this.#homes.all(connection));
  }

  async close(): Promise<void> {
    this.onChange = undefined;
    for (const membership of this.#joined.values()) membership.abandon();
    this.#joined.clear();
    this.#reading.abandon();
  }

  /** The node of the last one that joined here. */
  get #own(): string | undefined {
    return [...this.#joined.values()].at(-1)?.node;
  }

  #membership(id: string, ttl: number): Membership {
    const known = this.#joined.get(id);
    if (known !== undefined && !known.isOver) return known;
    const membership = new Membership(id, this.address, this.#folder, this.patience, ttl);
    this.#joined.set(id, membership);
    return membership;
  }

  #forget(id: string, membership: Membership): void {
    if (this.#joined.get(id) === membership) this.#joined.delete(id);
    if (this.#joined.size === 0) this.#watching.end();
  }

  async #removeAll(connection: ZooKeeperConnection, id: string): Promise<void> {
    const { path } = this.#folder;
    const [, { names }] = await Promise.all([connection.ask(sync(path)), connection.ask(getChildren(path))]);
    for (const name of names.filter((one) => memberNode(one)?.id === id)) {
      await connection.ask(remove(`${path}/${name}`)).catch((error: unknown) => {
        if (!isCode(error, CODE.noNode)) throw error;
      });
    }
  }

  #layOut(deadline = this.patience.deadline): Promise<void> {
    return this.#reading.use((connection) => layOut(connection, this.address, this.places), deadline);
  }

  /** What is not there any more has nothing below it. */
  #orNothing<T>(nothing: T, task: (connection: ZooKeeperConnection) => Promise<T>): Promise<T> {
    return this.#tell(async () => {
      try {
        return await this.#reading.use(task);
      } catch (error) {
        if (isCode(error, CODE.noNode)) return nothing;
        throw error;
      }
    });
  }

  async #tell<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (error) {
      throw asJournalError(this.address, error);
    }
  }
}
