/**
 * Marks become rows: what changed is written down as it is now, and what is not there any more is deleted. Reading the
 * state, instead of noting each change, keeps the rows right whatever order the changes had.
 *
 * Moments of the core become instants on disk by `state.epoch`; a moment of 0 that means "none" stays 0.
 */

import type { FinishedRow, ItemRow, ProgressRow, Row, RowChange, TurnRow } from '../contract/rows.js';
import { partsOf } from '../items/idempotency.js';
import { leaderRow } from '../leaders/group-rows.js';
import { waitsFor } from '../state/dependencies.js';
import { keylessName, parkOf, turnOf } from '../state/lane.js';
import type { OutgoingParcel } from '../state/outgoing.js';
import {
  type DeadLetter,
  type Item,
  type Lane,
  type Prerequisite,
  type Queue,
  Session,
  type Turn,
} from '../state/records.js';
import { settlementOf } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import type { Stored } from '../state/stored.js';
import { isLinked } from '../structures/link.js';
import type { FinishedItem } from '../structures/retention-cache.js';
import { marksOfAll } from './all-marks.js';
import type { Changes, ItemMark, Marks } from './changes.js';
import { assignmentRow, endingRow, ticketRow } from './turn-rows.js';

/** What is written in one go: all of it or nothing. */
export interface Batch {
  readonly changes: readonly RowChange[];
  /**
   * When it was collected, as an instant of this run, ms. The next run takes it as the moment of the last write (S51).
   */
  readonly instant: number;
  /** Those whose payload and headers are in it, and leave the memory once the batch is flushed (S57). */
  readonly items: readonly Item[];
  /** What it says of tokens: all up to the next time are smaller. Unset: nothing. */
  readonly floor: number | undefined;
  /** Those of which it has the row: they may be sent once it is flushed. */
  readonly outgoing: readonly OutgoingParcel[];
}

/**
 * Takes all marks and makes one batch of them. Precondition: it is called between steps. So a step is never torn: what
 * changed together is in one batch, and a crash between two batches leaves the state as it was between two steps (S50).
 * The caller has to see to it that the batch is written before any newer one.
 */
export function collect(state: CoreState, changes: Changes, now: number): Batch {
  const writer = new Writer(state);
  writer.write(changes.take());
  const { rows, items, floor, outgoing } = writer;
  return { changes: rows, instant: now + state.epoch, items, floor, outgoing };
}

/**
 * All rows as they are now, whether they are written or not. Nothing is taken: what is marked is written all the same. Precondition:
 * contents are kept in memory.
 */
export function collectAll(state: CoreState, changes: Changes): readonly Row[] {
  const writer = new Writer(state, true);
  writer.write(marksOfAll(state, changes));
  return writer.rows.flatMap((change) => ('put' in change ? [change.put] : []));
}

/**
 * Makes rows of marks. Those of tokens are several for each turn: they are made in one piece, because a spread costs as much as all
 * else that is done for a row. It changes no decision of the core, only `stored` of the items that it writes. */
class Writer {
  readonly rows: RowChange[] = [];
  readonly items: Item[] = [];
  readonly outgoing: OutgoingParcel[] = [];
  floor: number | undefined = undefined;

  /** @param isWhole what was written before is written, too */
  constructor(
    private readonly state: CoreState,
    private readonly isWhole = false,
  ) {}

  /**
   * Strays come first: the journal applies changes in order, so a row that was found at the start and is needed again
   * by now is deleted and then put.
   */
  write(marks: Marks): void {
    for (const id of marks.strays) this.rows.push({ delete: id });
    if (marks.floor) this.#floor();
    for (const queue of marks.pauses) this.#pause(queue);
    for (const id of marks.sessions) this.#session(id);
    for (const [token, lane] of marks.tokens) this.#token(token, lane);
    for (const [queue, names] of marks.keys) for (const name of names) this.#key(queue, name);
    for (const lane of marks.parks) this.#park(lane);
    for (const [seq, mark] of marks.items) this.#item(seq, mark);
    for (const ended of marks.ends) this.#end(ended);
    for (const queue of marks.limits) this.#limits(queue);
    for (const group of marks.leaders) this.#leader(group);
    for (const parcel of marks.outgoing.values()) this.#parcel(parcel);
    for (const source of marks.inbox) this.#inbox(source);
  }

  #floor(): void {
    this.floor = this.state.tokens.reserved;
    this.rows.push({ put: { table: 'floor', token: this.floor } });
  }

  #pause({ name, paused }: Queue): void {
    const row = { table: 'pauses', queue: name } as const;
    this.rows.push(paused ? { put: row } : { delete: row });
  }

  /** It goes with the queue: nobody can take back that something was set. */
  #limits({ name, limitsSet }: Queue): void {
    const row = { table: 'limits', queue: name } as const;
    if (limitsSet === undefined) this.rows.push({ delete: row });
    else this.#put({ ...row, ...limitsSet });
  }

  #leader(name: string): void {
    const group = this.state.leaders.groups.get(name);
    if (group === undefined) this.rows.push({ delete: { table: 'leaders', group: name } });
    else this.#put(leaderRow(group, this.state.epoch));
  }

  #parcel(parcel: OutgoingParcel): void {
    const { stamp, target, from, followUps, principal } = parcel;
    if (!this.state.outgoing.has(parcel)) {
      this.rows.push({ delete: { table: 'outbox', stamp } });
      return;
    }
    this.#put(withPrincipal({ table: 'outbox', stamp, target, from, followUps }, principal));
    this.outgoing.push(parcel);
  }

  #inbox(source: number): void {
    const stamp = this.state.outgoing.inbox.get(source);
    if (stamp !== undefined) this.#put({ table: 'inbox', source, stamp });
  }

  /** A row stands for a session as long as it has turns of durable queues. */
  #session(id: string): void {
    const session = this.state.sessions.get(id);
    if (session === undefined || session.durable === 0) this.rows.push({ delete: { table: 'sessions', id } });
    else this.rows.push({ put: { table: 'sessions', id, ttl: session.ttl } });
  }

  /** Looks without counting as a use, so that writing changes nothing of what is forgotten first. */
  #key(queue: Queue, name: string): void {
    const done = queue.doneKeys.peek(name);
    const id = { table: 'keys', queue: queue.name, ...partsOf(name) } as const;
    if (done === undefined) this.rows.push({ delete: id });
    else this.rows.push({ put: { ...id, result: done.value.result, until: this.#instant(done.until) } });
  }

  #park(lane: Lane): void {
    const { queue, key } = lane;
    const parked = parkOf(lane);
    const id = { table: 'parks', queue: queue.name, key, lane: keylessName(lane) } as const;
    if (parked === undefined) this.rows.push({ delete: id });
    else {
      const { since, because, itemId } = parked;
      this.rows.push({ put: { ...id, since: this.#instant(since), because, itemId } });
    }
  }

  /**
   * The row of one token: the live turn, or how it ended, or nothing where that is forgotten. Ended over live is one
   * put in the same row, so after a crash a token is never both.
   */
  #token(token: number, lane: Lane | undefined): void {
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (lane !== undefined && turn?.token === token)
      return this.#put(withPrincipal(this.#turn(lane, turn), turn.account?.principal));
    const settlement = lane === undefined ? undefined : settlementOf(lane, token);
    if (lane === undefined || settlement === undefined) {
      this.rows.push({ delete: { table: 'tokens', token } });
      return;
    }
    const { ticket, ending } = settlement;
    this.#put({
      table: 'tokens',
      token,
      queue: lane.queue.name,
      key: lane.key,
      lane: keylessName(lane),
      startedAt: this.#startedAt(lane),
      state: 'ended',
      ticket,
      ending: endingRow(ending),
    });
  }

  /** A tied turn has no `end`: its session has it. A restart gives the session its whole `ttl` (S51). */
  #turn(lane: Lane, turn: Turn): TurnRow {
    const { consumerId, lease, since, latestEnd } = turn;
    const { queue, key } = lane;
    const session = this.#sessionOf(turn);
    const end = session === undefined ? this.#endOf(turn) : undefined;
    return {
      table: 'tokens',
      token: turn.token,
      queue: queue.name,
      key,
      lane: keylessName(lane),
      startedAt: this.#startOf(lane, turn),
      state: 'live',
      assignment: assignmentRow(turn.assignment),
      consumerId,
      ticket: ticketRow(turn.ticket),
      lease,
      since: this.#instant(since),
      end: end === undefined ? undefined : this.#instant(end),
      latestEnd: latestEnd === undefined ? undefined : this.#instant(latestEnd),
      handed: turn.answers > 1 ? 'known' : turn.handed,
      session,
    };
  }

  /** Of the turns of a key only the start of the last one counts, and that only if the queue has a `min_interval`. */
  #startedAt(lane: Lane): number {
    return lane.startedAt === undefined ? 0 : this.#instant(lane.startedAt);
  }

  /** Where the key has no start to keep, that of the turn; for at_most_once when the items were handed out. */
  #startOf(lane: Lane, { assignment, since }: Turn): number {
    // When one that was adopted started is not known.
    if (lane.startedAt !== undefined || assignment.kind === 'adopted') return this.#startedAt(lane);
    return assignment.kind === 'items' && assignment.done ? this.#handedOutAt(assignment.items) : this.#instant(since);
  }

  /**
   * at_most_once: for how long it is remembered that they are done counts from then. 0: it is not any more. Those that
   * are kept in memory only have nothing to remember it by.
   */
  #handedOutAt(items: readonly Item[]): number {
    for (const { lane, id, seq } of items) {
      const { finished, policy } = lane.queue;
      const known = finished.peek(id);
      if (known?.value.seq === seq) return this.#instant(known.until - policy.resultTtl);
    }
    return 0;
  }

  /** One that is over by the clock comes to an end, whatever has its id now. */
  #sessionOf({ owner }: Turn): string | undefined {
    if (!(owner instanceof Session) || this.state.sessions.get(owner.id) !== owner) return undefined;
    return owner.id;
  }

  /** Moment at which the turn ends by itself. The owner can be a session here only if that is over by the clock. */
  #endOf({ owner, lane }: Turn): number {
    return owner instanceof Session ? owner.endsAt : lane.due;
  }

  /**
   * An item is in one of three states on disk: open (`items` row, and a `progress` row once anything happened to it),
   * finished (a row in the place of the first, no progress), or forgotten (no row). The mark may be older than the
   * state: what counts is how the item is now, and whether what is remembered of its id is of this `seq` and not of
   * another item.
   */
  #item(seq: number, { queue, id, item }: ItemMark): void {
    const stored = item?.stored;
    if (item !== undefined && stored !== undefined && item.phase.at !== 'gone') return this.#open(item, stored);
    const finished = queue.finished.peek(id);
    if (finished?.value.seq !== seq) this.rows.push({ delete: { table: 'items', seq } });
    else this.#put(this.#finished(seq, queue, id, finished.value, finished.until));
    if (stored?.progressed !== true || this.isWhole) return;
    this.rows.push({ delete: { table: 'progress', seq } });
    stored.progressed = false;
  }

  /**
   * The row of an open item, with its content, is written once and never again. What happens to it later goes to its
   * progress row, which is small: a retry does not write the payload anew.
   */
  #open(item: Item, stored: Stored): void {
    if (this.isWhole) this.#put(this.#itemRow(item, stored));
    else if (stored.where === 'new') {
      stored.where = 'written';
      if (!this.state.keepsContents) this.items.push(item);
      this.#put(this.#itemRow(item, stored));
    }
    const dead = item.phase.at === 'dead' ? item.phase : undefined;
    if (!stored.progressed && dead === undefined && !hasProgress(item, stored)) return;
    stored.progressed = true;
    this.#put(this.#progress(item, stored, dead));
  }

  #itemRow(item: Item, stored: Stored): ItemRow {
    return withPrincipal(this.#submitted(item, stored), item.account?.principal);
  }

  /** As it is now, not as it was submitted: the batch may find it tried already. `progress` has the rest. */
  #submitted(item: Item, { contentHash, bytes }: Stored): ItemRow {
    const { seq, lane, id, idempotencyKey, submittedAt, takesRoom, payload, headers } = item;
    return {
      table: 'items',
      seq,
      state: 'open',
      queue: lane.queue.name,
      key: lane.key,
      id,
      idempotencyKey,
      contentHash,
      submittedAt: this.#instant(submittedAt),
      notBefore: this.#notBefore(item),
      takesRoom,
      // Where less is left, `progress` says what. The row keeps all, for a redrive.
      after: item.waits?.changed === true ? item.waits.after : waitsFor(item),
      contentBytes: bytes,
      content: { payload, headers },
    };
  }

  /** `after` is written only when less of it is left than at the arrival of the item. */
  #progress(item: Item, { rank }: Stored, letter: DeadLetter | undefined): ProgressRow {
    const { seq, attempts, crashes, lastError, takesRoom, waits } = item;
    const dead = letter && {
      cause: letter.cause,
      at: this.#instant(letter.diedAt),
      destination: letter.destination,
    };
    const after = waits?.changed === true ? waitsFor(item) : undefined;
    const common = { table: 'progress', seq, attempts, crashes, lastError, takesRoom, rank } as const;
    return {
      ...common,
      notBefore: this.#notBefore(item),
      after,
      dependencyFailed: waits?.dependencyFailed === true,
      dead,
    };
  }

  #finished(seq: number, queue: Queue, id: string, finished: FinishedItem, until: number): FinishedRow {
    const { state, result, error, attempt, contentHash } = finished;
    const common = { table: 'items', seq, queue: queue.name, id } as const;
    return { ...common, state, result, error, attempt, contentHash, until: this.#instant(until) };
  }

  /** The row stays as long as the end stands in the list of those of which dependants have still to learn (S112). */
  #end(ended: Prerequisite): void {
    const { queue, itemId: id, end, seq } = ended;
    if (end === undefined || end === 'forgotten' || !isLinked(ended))
      this.rows.push({ delete: { table: 'items', seq } });
    else this.#put({ table: 'items', seq, state: 'ended', queue, id, end });
  }

  #notBefore({ notBefore }: Item): number {
    return notBefore === 0 ? 0 : this.#instant(notBefore);
  }

  #instant(moment: number): number {
    return moment + this.state.epoch;
  }

  #put(row: Extract<RowChange, { put: unknown }>['put']): void {
    this.rows.push({ put: row });
  }
}

/** Without a principal the row is copied by nobody, and is as rows of earlier versions are. */
function withPrincipal<R extends object>(row: R, principal: string | undefined): R | (R & { principal: string }) {
  return principal === undefined ? row : { ...row, principal };
}

/** Whether anything is not as it was submitted. Its `notBefore` becomes another only with one of these. */
function hasProgress({ attempts, lastError, takesRoom, seq, waits }: Item, { rank, hurried }: Stored): boolean {
  return hurried || attempts > 0 || lastError !== undefined || !takesRoom || rank !== seq || waits?.changed === true;
}
