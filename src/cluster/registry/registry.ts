/**
 * THE PORT of membership. A member is an incarnation: a random id for each start of a process. It has a session that
 * ends by itself when it is not renewed. Everybody lists all members.
 *
 * The registry gives liveness only. It may be late, early or wrong: two homes are kept apart by the guard in the store.
 */
import type { QueueRemains } from '../../core/contract/views.js';

/** What a member says of itself. */
export interface Member {
  /** Of the incarnation; random. */
  readonly id: string;
  /** For people: the host, or what `cluster.advertise` says. */
  readonly name: string;
  /** Where other sidecars reach it, host:port. */
  readonly address: string;
  /** Where clients reach it: host:port, or unix: and a path. Empty: it does not listen yet. */
  readonly grpc: string;
  /** Of the program. */
  readonly version: string;
  /** The newest format of rows that it reads and writes. */
  readonly format: number;
  /** Its share of partitions against that of others; 0: none. */
  readonly weight: number;
  /** It ends: it takes no partition, and hands over what it has. */
  readonly isLeaving: boolean;
  /** The version of the routes that it follows. */
  readonly routes: number;
  /** It follows routes that change. Unset: it has those of its start for good. */
  readonly reroutes?: boolean;
  /** Of the record that it follows: it grows with pins and formats, too. Unset: it does not say. */
  readonly revision?: number;
  /** Id of the record that it follows; unset: it does not say. */
  readonly cluster?: string;
  /**
   * Set while guards are gone from the store that it knows of: the partitions of which it keeps the core, each with the epoch of the
   * claim that the core is of.
   */
  readonly keeps?: readonly (readonly [partition: number, epoch: number])[];
}

export interface Registry {
  /** For people. */
  readonly name: string;
  /** What is other than it was asked for, for people: told once, at the start. */
  readonly caution?: string | undefined;
  /**
   * Set by who lists members: called when the registry tells by itself that they may have changed. It need not: members are listed
   * again and again all the same.
   */
  onChange?: (() => void) | undefined;
  /**
   * Begins a session, or writes it over: `member` is listed until `ttl` ms after the last renewal that reached the
   * registry, by its clock. @throws Error
   */
  join(member: Member, ttl: number): Promise<void>;
  /**
   * Renews the session. @returns false: it was over. The member is not listed any more and has to join as another
   * incarnation. @throws Error: it is not known whether it was renewed
   */
  renew(member: Member, ttl: number): Promise<boolean>;
  /** Ends the session at once. @throws Error */
  leave(id: string): Promise<void>;
  /** All members whose sessions are not over, in the order of their ids. At most 1,000. @throws Error */
  members(): Promise<readonly Member[]>;
  /**
   * What homes keep for gateways: which member is the home of each partition. @throws Error
   */
  publish(homes: readonly HomeEntry[]): Promise<void>;
  homes(): Promise<readonly HomeEntry[]>;
  close(): Promise<void>;
}

/** That a member is the home of a partition. The larger epoch is the newer one. */
export interface HomeEntry {
  readonly partition: number;
  readonly epoch: number;
  readonly member: string;
  readonly address: string;
  /** It was handed over to this one, and nobody decided about it for so long, ms. Unset: it came otherwise, or it is not known. */
  readonly paused?: number;
  /** What became of the queue that is routed anew: see {@link Statement}. Unset: nothing yet. */
  readonly statement?: Statement;
}

/**
 * What a home says of a queue that is to leave its partition, in the epoch of the entry. `lastToken`: it has left, that is written,
 * and no larger token was given. `remains`: this is still there.
 */
export type Statement = { readonly at: number } & ({ readonly lastToken: number } | { readonly remains: QueueRemains });
