/**
 * Turns from their rows: how they ended, and those that live (S54). A worker that outlived the sidecar goes on with the
 * token it has. No time passed for its lease while the process was away (S51).
 */

import type { EndedRow, EndingRow, SessionRow, TurnRow } from '../contract/rows.js';
import { live } from '../lane/turn-lifetime.js';
import { install } from '../lane/turns.js';
import { textsOfTurn } from '../state/held.js';
import { ADOPTED, type Assignment, callerAssignment, type Item, type Lane, Session, Turn } from '../state/records.js';
import { forgetIfEmpty, keepSession } from '../state/session.js';
import type { Ending } from '../state/settlement.js';
import { hasFollowUps, keepFollowUps, remember } from '../state/settlements.js';
import { after } from '../structures/due.js';

import type { Epoch } from '../structures/hold-epochs.js';
import type { Restored } from './restored.js';

/** A live turn whose items are not read yet. */
export class PendingTurn {
  readonly #items = new Map<number, Item>();
  constructor(
    readonly lane: Lane,
    readonly row: TurnRow,
  ) {}

  /** at_most_once: its items were done when they were handed out. */
  get done(): boolean {
    return this.row.assignment.kind === 'items' && this.row.assignment.done;
  }

  carry(item: Item): void {
    this.#items.set(item.seq, item);
  }

  /**
   * What the turn was given for. Items that were kept in memory only are gone: `given` keeps the places of those that
   * are missing, because the worker counts them in a Nack (S110).
   */
  toAssignment(): Assignment {
    const { assignment } = this.row;
    switch (assignment.kind) {
      case 'adopted':
        return ADOPTED;
      case 'caller':
        return callerAssignment(assignment.idempotencyKey);
      case 'items': {
        const items = assignment.seqs.flatMap((seq) => this.#items.get(seq) ?? []);
        // All of them were kept in memory only: somebody works on what is not known any more.
        if (items.length === 0) return ADOPTED;
        const known = { kind: 'items', items, done: assignment.done } as const;
        return items.length === assignment.seqs.length ? known : { ...known, given: assignment.seqs };
      }
    }
  }
}

/**
 * Sessions come first, then token rows, then items; {@link RestoredTurns.finish} then makes each turn the live one of
 * its lane. A turn cannot be made earlier: what it carries is known only when the items are there.
 */
export class RestoredTurns {
  readonly #pending: PendingTurn[] = [];
  /** By the `seq` of the items that they have. */
  readonly #carriers = new Map<number, PendingTurn>();
  readonly #sessions = new Map<string, Session>();

  constructor(private readonly restored: Restored) {}

  addSession({ id, ttl }: SessionRow): void {
    const session = new Session(id);
    session.ttl = ttl;
    this.#sessions.set(id, session);
    keepSession(this.restored.state, session);
  }

  add(row: TurnRow | EndedRow, now: number): void {
    const queue = this.restored.queue(row.queue, now);
    if (queue === undefined) return this.#strand(row);
    const lane = this.restored.lane(queue, row.key, row.lane);
    this.#noteStart(lane, row);
    if (row.state === 'live') this.#addLive(lane, row);
    else this.#addEnded(lane, row);
  }

  /** The live turn that has this item. */
  carrierOf(seq: number): PendingTurn | undefined {
    return this.#carriers.get(seq);
  }

  /** Gives every live turn to its lane; a step of the walk each. Precondition: all items are read. */
  *finish(clock: () => number): Generator<undefined> {
    const epochs = this.#epochs();
    this.#breakSessions(clock());
    for (const turn of this.#pending) {
      this.#install(turn, epochs.get(turn), clock());
      yield;
    }
    for (const session of this.#sessions.values()) this.#endIfEmpty(session);
  }

  /** A live turn must not be dropped silently; how an old one ended may be (S55). */
  #strand(row: TurnRow | EndedRow): void {
    const { table, token } = row;
    if (row.state === 'live') this.restored.strand(row.queue, 'liveTurns');
    else this.restored.state.changes?.stray({ table, token });
  }

  /** For `min_interval`: of all turns of a key the latest start counts. A keyless item is never too soon (S2). */
  #noteStart(lane: Lane, { startedAt }: TurnRow | EndedRow): void {
    if (startedAt === 0 || lane.key === '' || lane.queue.policy.minInterval === 0) return;
    const moment = this.restored.moment(startedAt);
    lane.startedAt = Math.max(lane.startedAt ?? moment, moment);
  }

  /** Rows come by token, so the ring of settlements is filled from the oldest to the newest. */
  #addEnded(lane: Lane, { token, ticket, ending }: EndedRow): void {
    // At most one row of a lane has follow-ups: where they are forgotten the row is written again.
    if (hasFollowUps(ending)) keepFollowUps(this.restored.state.spareSettlements, lane);
    remember(this.restored.state.spareSettlements, lane, token, ticket, copied(ending));
    if (lane.key === '') lane.queue.keyless.set(token, lane);
  }

  #addLive(lane: Lane, row: TurnRow): void {
    const turn = new PendingTurn(lane, row);
    this.#pending.push(turn);
    if (row.assignment.kind !== 'items') return;
    for (const seq of row.assignment.seqs) {
      this.#carriers.set(seq, turn);
      // Also those that are not on disk.
      this.restored.sawItem(seq);
    }
  }

  /** Turns age by when they began, but they are given in the order of their tokens. */
  #epochs(): ReadonlyMap<PendingTurn, Epoch> {
    const byAge = this.#pending.toSorted((a, b) => a.row.since - b.row.since);
    return new Map(
      byAge.map((turn) => {
        const { since, token } = turn.row;
        return [turn, turn.lane.queue.holds.start(this.restored.moment(since), token)];
      }),
    );
  }

  /** From now on they have their whole time to be taken up again. */
  #breakSessions(now: number): void {
    for (const session of this.#sessions.values()) {
      session.brokenAt = now;
      session.endsAt = after(now, session.ttl);
      this.restored.state.wheel.schedule(session, session.endsAt);
    }
  }

  /** A session none of whose turns came back is forgotten, and its row is deleted. */
  #endIfEmpty(session: Session): void {
    const { state } = this.restored;
    if (session.size > 0) return;
    forgetIfEmpty(state, session);
    state.changes?.session(session.id);
  }

  /** A ticket of dispatch is one record for all of its turns; `install` makes it known. */
  #ticketOf({ ticket, consumerId }: TurnRow): Turn['ticket'] {
    if (ticket?.of === 'dispatch') return this.restored.state.dispatchTickets.open(consumerId, ticket.ticket);
    return ticket?.ticket;
  }

  /**
   * Makes the turn the live one. It ends by its session if it is tied; else after what was left of its lease, or of the
   * time of its ticket, at the last write. `install` keeps its ticket and marks its row, so that the row has the
   * instants of this run from the first batch on.
   */
  #install(pending: PendingTurn, epoch: Epoch | undefined, now: number): void {
    const { state } = this.restored;
    const { lane, row } = pending;
    const { token, consumerId, lease, since, latestEnd } = row;
    const ticket = this.#ticketOf(row);
    const latest = latestEnd === undefined ? undefined : this.restored.endOf(latestEnd, now);
    const started = this.restored.moment(since);
    const age = epoch ?? lane.queue.holds.start(now, token);
    const turn = new Turn(lane, token, pending.toAssignment(), consumerId, ticket, lease, started, latest, age);
    turn.handed = row.handed === 'kept' ? 'kept' : 'given';
    if (row.handed === 'known') turn.answers = Number.POSITIVE_INFINITY;
    turn.fromBefore = true;
    turn.account = state.accounts.of(row.principal);
    lane.spare = turn;
    state.chargedBytes += textsOfTurn(turn);
    install(state, lane, turn);
    turn.owner = row.session === undefined ? undefined : this.#sessions.get(row.session);
    if (turn.owner !== undefined || row.end === undefined) live(state, turn, now);
    else state.wheel.schedule(lane, this.restored.endOf(row.end, now));
  }
}

/** What it remembers of follow-ups may be forgotten later: the row stays as it is. */
function copied(ending: EndingRow): Ending {
  return ending.ended === 'settled' && ending.call === 'ack' ? { ...ending } : ending;
}
