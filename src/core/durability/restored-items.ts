/**
 * Items from their rows: in line, in flight, dead. Payload and headers stay on disk until the item is handed out, so a
 * restored item weighs as one whose content is on disk alone (S57). Where contents are kept in memory they come with the
 * rows (S272).
 */

import type { Content, ItemRow, ProgressRow } from '../contract/rows.js';
import { isOwnId } from '../items/finish.js';
import { buryOld, carryHandedOut, carryOld, lineUpOld } from '../items/item-phase.js';
import { DeadLetter, type Entry, Item, Lane, type Queue } from '../state/records.js';
import { AWAY, Stored } from '../state/stored.js';
import { wholeMs } from '../structures/due.js';
import type { Line } from '../structures/line.js';
import { append, isLinked, unlink } from '../structures/link.js';
import { NO_NUMBER } from '../structures/own-id.js';
import type { Restored } from './restored.js';
import { waitAgain } from './restored-dependencies.js';
import type { RestoredMemory } from './restored-memory.js';
import type { PendingTurn, RestoredTurns } from './restored-turns.js';

/** Precondition: turns and progress rows come before the items (`TABLES`). */
export class RestoredItems {
  /** By `seq`, until their items come. */
  readonly #progress = new Map<number, ProgressRow>();

  constructor(
    private readonly restored: Restored,
    private readonly turns: RestoredTurns,
    private readonly memory: RestoredMemory,
  ) {}

  addProgress(row: ProgressRow): void {
    this.#progress.set(row.seq, row);
  }

  /**
   * Puts one item where its rows say: into the live turn that has its `seq`, among the dead letters, or in line. A
   * queue that is not durable now makes it stranded (S55).
   */
  add(row: ItemRow, now: number): void {
    const progress = this.#progress.get(row.seq);
    this.#progress.delete(row.seq);
    const queue = this.restored.queue(row.queue, now);
    if (queue === undefined) return this.restored.strand(row.queue, progress?.dead ? 'deadLetters' : 'items');
    const turn = this.turns.carrierOf(row.seq);
    if (turn !== undefined) this.#addInFlight(queue, turn, row, progress, now);
    else if (progress?.dead !== undefined) this.#addDead(queue, row, progress, progress.dead);
    else this.#addWaiting(queue, row, progress);
  }

  /** What became of items that are not there. */
  finish(): void {
    for (const seq of this.#progress.keys()) this.restored.state.changes?.stray({ table: 'progress', seq });
    this.#progress.clear();
  }

  /** The first item of a lane moves the lane to those in which items wait: they are resolved first, in this order. */
  #addWaiting(queue: Queue, row: ItemRow, progress: ProgressRow | undefined): void {
    const { state, waiting } = this.restored;
    const lane = this.restored.laneOfItem(queue, row.key, row.seq);
    const item = this.#item(lane, row, progress);
    if (lane.line === undefined) {
      if (isLinked(lane)) unlink(lane);
      append(waiting, lane);
    }
    lineUpOld(state, item, insert);
  }

  #addDead(queue: Queue, row: ItemRow, progress: ProgressRow, dead: NonNullable<ProgressRow['dead']>): void {
    const { key } = row;
    // A lane of its own, known to nobody: the one in which it became a dead letter may be forgotten by now.
    const lane = queue.lanes.get(key) ?? new Lane(queue, key);
    const item = this.#item(lane, row, progress);
    const { cause, at, destination } = dead;
    buryOld(this.restored.state, item, new DeadLetter(item, key, cause, this.restored.moment(at), destination));
  }

  /**
   * at_most_once (`turn.done`): the item is done since it was handed out, and that is remembered for the rest of
   * `result_ttl`, counted from the start of the turn. Its row says nothing of it: it changes only when the turn ends.
   */
  #addInFlight(queue: Queue, turn: PendingTurn, row: ItemRow, progress: ProgressRow | undefined, now: number): void {
    const item = this.#item(turn.lane, row, progress);
    turn.carry(item);
    if (!turn.done) return carryOld(this.restored.state, item);
    carryHandedOut(this.restored.state, item);
    const { seq, id } = item;
    const until = this.restored.moment(turn.row.startedAt) + queue.policy.resultTtl;
    const contentHash = isOwnId(item) ? undefined : row.contentHash;
    const attempt = item.attempts + 1;
    const value = { state: 'done', result: undefined, error: item.lastError, attempt, contentHash, seq } as const;
    this.memory.addHandedOut({ queue, id, value, until }, now);
  }

  /**
   * Makes the record. `waitAgain` comes before the item is weighed and indexed, because what it waits for has a weight.
   * `notBefore` becomes a whole ms, as every due time; 0 means none. `frontRank` is kept at or below the smallest rank,
   * so that an item that comes back to the head of a line later can get a smaller one.
   */
  #item(lane: Lane, row: ItemRow, progress: ProgressRow | undefined): Item {
    const { id, idempotencyKey, seq, contentHash, contentBytes } = row;
    const { notBefore, takesRoom, attempts, crashes, lastError, rank } = progress ?? fresh(row);
    const submittedAt = this.restored.moment(row.submittedAt);
    const notBeforeNow = notBefore === 0 ? 0 : wholeMs(this.restored.moment(notBefore));
    const { state } = this.restored;
    const content = state.keepsContents ? contentIn(row) : undefined;
    const { payload, headers } = content ?? NOTHING;
    const item = new Item(lane, id, payload, headers, idempotencyKey, submittedAt, seq, notBeforeNow, NO_NUMBER);
    item.attempts = attempts;
    item.crashes = crashes;
    item.lastError = lastError;
    item.takesRoom = takesRoom;
    item.account = state.accounts.of(row.principal);
    item.stored = new Stored(rank, contentHash, contentBytes);
    item.stored.where = content === undefined ? 'away' : 'written';
    item.stored.progressed = progress !== undefined;
    waitAgain(state, item, row.after, progress);
    state.frontRank = Math.min(state.frontRank, rank);
    return item;
  }
}

const NOTHING: Content = Object.freeze({ payload: AWAY, headers: undefined });

function contentIn({ content, seq, queue }: ItemRow): Content {
  if (content === undefined) throw new TypeError(`item ${seq} of queue ${queue} was read without what it carries`);
  return content;
}

type Progress = Pick<ProgressRow, 'attempts' | 'crashes' | 'lastError' | 'notBefore' | 'takesRoom' | 'rank'>;

/** Nothing became of it yet. */
function fresh({ seq, notBefore, takesRoom }: ItemRow): Progress {
  return { attempts: 0, crashes: 0, lastError: undefined, notBefore, takesRoom, rank: seq };
}

/**
 * Puts the item in its line where its rank says, behind those of the same rank: they come in the order of submission,
 * which nearly always is the order of ranks.
 */
function insert(line: Line<Entry>, item: Item): void {
  const rank = rankOf(item);
  if (line.tail instanceof Item && rankOf(line.tail) > rank) {
    let entry = line.head;
    while (entry instanceof Item && rankOf(entry) <= rank) entry = entry.behind;
    if (entry !== undefined) return line.insert(item, entry);
  }
  line.append(item);
}

function rankOf({ stored, seq }: Item): number {
  return stored?.rank ?? seq;
}
