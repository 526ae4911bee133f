import { Buffer } from 'node:buffer';
import { KVService, LeaseService } from '../../../grpc/gen/etcdserverpb/rpc.js';
import { type Clock, systemClock } from '../../../local/clock.js';
import { etcdAddress } from '../../etcd/address.js';
import { asMajorityHas, hasLease, isBelow, isMissing, put, range, remove, within } from '../../etcd/requests.js';
import { EtcdServer } from '../../etcd/server.js';
import { homeOf, memberOf } from '../records.js';
import type { HomeEntry, Member, Registry } from '../registry.js';

interface EtcdRegistryOptions {
  /** Of the cluster: begins every key. */
  readonly cluster: string;
  /** A call has its answer after this, or its outcome is unknown, ms. Well below the time of a session. */
  readonly deadline?: number;
  readonly startDeadline?: number;
  readonly clock?: Clock;
}

const DEADLINE = 1_000;
const START_DEADLINE = 5_000;
/** Members that are listed at most. */
const MOST_MEMBERS = 1_000;
/** Partitions in one transaction: etcd takes 128 operations, those within operations counted too. */
const AT_ONCE = 32;
/** Digits of the largest epoch: so texts are in the order of numbers. */
const DIGITS = 16;

/**
 * Opens the registry of a cluster in an etcd.
 *
 * @param url etcd://[USER:PASSWORD@]HOST[:PORT][,HOST…], or etcds://
 * @throws JournalError that says what is wrong and what to do
 */
export async function openEtcdRegistry(url: string, options: EtcdRegistryOptions): Promise<Registry> {
  const { cluster, deadline = DEADLINE, startDeadline = START_DEADLINE, clock = systemClock } = options;
  const server = await EtcdServer.open(etcdAddress(url), { deadline, clock }, Math.max(deadline, startDeadline));
  const registry = new EtcdRegistry(server, cluster);
  try {
    // Whether it may read, if not yet whether it may write.
    await registry.homes();
    return registry;
  } catch (error) {
    server.close();
    throw error;
  }
}

/** What this process keeps alive. */
interface Session {
  readonly lease: bigint;
  /** For which it was granted. */
  readonly seconds: number;
  /** The record, as it was written last. */
  text: string;
  /** With which it may be listed instead: it is not known whether that was done. */
  maybe?: bigint | undefined;
}

class EtcdRegistry implements Registry {
  readonly name: string;
  /** By member. */
  readonly #sessions = new Map<string, Session>();
  readonly #members: string;
  readonly #homes: string;

  constructor(
    private readonly server: EtcdServer,
    cluster: string,
  ) {
    this.name = server.name;
    this.#members = `${cluster}/members/`;
    this.#homes = `${cluster}/homes/`;
  }

  join(member: Member, ttl: number): Promise<void> {
    return this.#begin(member, ttl, undefined).then(() => undefined);
  }

  async renew(member: Member, ttl: number): Promise<boolean> {
    const session = await this.#settled(member.id);
    if (session === undefined) return false;
    const isRenewed =
      session.seconds === secondsOf(ttl)
        ? await this.#keep(member, session)
        : await this.#begin(member, ttl, session.lease);
    if (!isRenewed) this.#sessions.delete(member.id);
    return isRenewed;
  }

  /** With a lease of its own. @param instead of this one, if it is listed with it still */
  async #begin(member: Member, ttl: number, instead: bigint | undefined): Promise<boolean> {
    const seconds = secondsOf(ttl);
    const { ID: lease } = await this.server.ask(LeaseService.leaseGrant, { TTL: BigInt(seconds), ID: 0n });
    const text = JSON.stringify(member);
    const key = this.#members + member.id;
    const compare = instead === undefined ? [] : [hasLease(key, instead)];
    const session = this.#sessions.get(member.id);
    if (session !== undefined) session.maybe = lease;
    const { succeeded } = await this.server.ask(KVService.txn, {
      compare,
      success: [put(key, text, lease)],
      failure: [],
    });
    if (succeeded) this.#sessions.set(member.id, { lease, seconds, text });
    return succeeded;
  }

  /** After an answer that did not come it is found out which lease the member has. */
  async #settled(id: string): Promise<Session | undefined> {
    const session = this.#sessions.get(id);
    if (session?.maybe === undefined) return session;
    const key = this.#members + id;
    const { succeeded } = await this.server.ask(KVService.txn, {
      compare: [hasLease(key, session.maybe)],
      success: [asMajorityHas(key)],
      failure: [],
    });
    // Granted for another time than this says: so the next renewal grants one anew.
    const settled = succeeded ? { lease: session.maybe, seconds: 0, text: '' } : { ...session, maybe: undefined };
    this.#sessions.set(id, settled);
    return settled;
  }

  /** Whether it is listed still, with the record of now; then for how long. */
  async #keep(member: Member, session: Session): Promise<boolean> {
    const key = this.#members + member.id;
    const text = JSON.stringify(member);
    const { lease } = session;
    const success = text === session.text ? [asMajorityHas(key)] : [put(key, text, lease)];
    const { succeeded } = await this.server.ask(KVService.txn, {
      compare: [hasLease(key, lease)],
      success,
      failure: [],
    });
    if (!succeeded) return false;
    session.text = text;
    return (await this.server.keepAlive(lease)) > 0;
  }

  async leave(id: string): Promise<void> {
    await this.server.ask(KVService.txn, { compare: [], success: [remove(this.#members + id)], failure: [] });
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    // Nothing hangs on it any more: it ends by itself too.
    if (session !== undefined)
      await this.server.ask(LeaseService.leaseRevoke, { ID: session.lease }).catch(() => undefined);
  }

  async members(): Promise<readonly Member[]> {
    const all = (await this.#values(this.#members, MOST_MEMBERS)).flatMap((text) => memberOf(text) ?? []);
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async publish(homes: readonly HomeEntry[]): Promise<void> {
    const newest = new Map<number, HomeEntry>();
    for (const home of homes)
      if (home.epoch >= (newest.get(home.partition)?.epoch ?? 0)) newest.set(home.partition, home);
    const all = [...newest.values()];
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const success = all.slice(from, from + AT_ONCE).map((home) => this.#publishing(home));
      await this.server.ask(KVService.txn, { compare: [], success, failure: [] });
    }
  }

  async homes(): Promise<readonly HomeEntry[]> {
    const homes = (await this.#values(this.#homes, 0)).flatMap((text) => homeOf(text) ?? []);
    return homes.sort((a, b) => a.partition - b.partition);
  }

  async close(): Promise<void> {
    this.server.close();
  }

  /** Over one with a smaller epoch, or the same, or none. Values begin with the epoch, so that etcd can compare them. */
  #publishing(home: HomeEntry) {
    const key = `${this.#homes}${home.partition}`;
    const epoch = String(home.epoch).padStart(DIGITS, '0');
    const written = put(key, `${epoch} ${JSON.stringify(home)}`);
    const ifMissing = within({ compare: [isMissing(key)], success: [written], failure: [] });
    // Behind a space in the order of bytes.
    return within({ compare: [isBelow(key, `${epoch}!`)], success: [written], failure: [ifMissing] });
  }

  async #values(prefix: string, limit: number): Promise<readonly string[]> {
    const { kvs } = await this.server.ask(KVService.range, range(prefix, limit));
    return kvs.map(({ value }) => Buffer.from(value).toString('utf8'));
  }
}

/** Of a lease: never shorter than was asked. etcd makes it longer where an election takes longer. */
function secondsOf(ttl: number): number {
  return Math.ceil(ttl / 1_000);
}
