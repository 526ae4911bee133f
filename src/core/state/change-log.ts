import type { Durability } from '../contract/model.js';
import type { RowId } from '../contract/rows.js';
import type { OutgoingParcel } from './outgoing.js';

/**
 * Where it is marked what of durable queues changed: which rows, not how they are. All that other rooms know of
 * durability; `durability/changes.ts` is what the core is given for it.
 */
export interface ChangeLogOf<Queue, Lane, Item, Prerequisite> {
  /** So much waits to be written that everybody waits with it, whatever the durability. */
  readonly isBehind: boolean;
  /** What is told of turns waits for the disk, whatever the durability: another process may go on from there (S271). */
  readonly turnsWait: boolean;
  /**
   * Items that are done because they were handed out (at_most_once), while their turn lives: until then they stay on
   * disk as they are, because what they carry is read when it is handed out, and they may come back if nobody got them.
   */
  readonly handedOut: Map<number, Item>;
  /** A step begins. */
  begin(now: number): void;
  /**
   * Of an item that has `stored`.
   *
   * @param asked by the Submit that changes it; unset: it is left to the queue
   */
  item(item: Item, asked?: Durability): void;
  /** What was remembered of a finished item is forgotten, or will be another at once. */
  finishedGone(queue: Queue, id: string, seq: number): void;
  /** What is remembered of a finished item is to be written, though it was not before. */
  finished(queue: Queue, id: string, seq: number, asked?: Durability): void;
  /** A turn began, ended, or lives longer. */
  turn(lane: Lane, token: number): void;
  /** How a turn ended is remembered otherwise than before. */
  settlement(lane: Lane, token: number): void;
  /** The lane is forgotten. */
  tokensGone(queue: Queue, tokens: Iterable<number>): void;
  keyDone(queue: Queue, name: string): void;
  keyGone(queue: Queue, name: string): void;
  park(lane: Lane): void;
  pause(queue: Queue): void;
  /** A person set its limits. */
  limits(queue: Queue): void;
  /** It has the first or has lost the last of its turns of durable queues, or its `ttl` is another. */
  session(id: string): void;
  /** What a start would find of this session is not what it is. */
  isUnwritten(session: string): boolean;
  /** A group has another leader, another phase, or is forgotten. */
  leader(group: string): void;
  floor(): void;
  /** Items on disk have not learnt that it ended, or all of them have: its row is written, or goes. */
  end(ended: Prerequisite): void;
  /** It was accepted, or is not kept any more. */
  outgoing(parcel: OutgoingParcel): void;
  /** More parcels of this partition are here. */
  inbox(source: number): void;
  /** A row that was found at the start and is not needed. */
  stray(id: RowId): void;
}
