/**
 * The core begins from rows: what durable queues were when the last batch was written. Rows come in the order of
 * `TABLES`, so that what others refer to is there; lanes come to their states when all are there.
 *
 * Two phases. First {@link Restoring.add} takes all rows in, slice by slice, and starts no turn. Then
 * {@link Restoring.finish} makes the lanes go on, a budget at a time, so that a start with millions of rows stalls
 * nobody. The time of the core stands still meanwhile: the leases of live turns begin to run when the sidecar is ready
 * (S51).
 *
 * Rows that nothing stands for any more (of a queue that is not durable now, or over by the clock) become strays: the
 * first batch deletes them. Items, dead letters and live turns of such a queue are counted instead, and the start is
 * refused (S55).
 */

import type { EndRow, FinishedRow, ItemRow, LimitsRow, OutboxRow, ParkRow, PauseRow, Row } from '../contract/rows.js';
import { bytesAway, lanesAway } from '../items/content.js';
import { beganBefore, parkAgain, restIfNew } from '../lane/phase.js';
import { resolve } from '../lane/resolve.js';
import { restoreGroup, resumeGroup } from '../leaders/group-rows.js';
import { COSTS } from '../state/held.js';
import { keepWithin } from '../state/memory-budget.js';
import { OutgoingParcel } from '../state/outgoing.js';
import { limitQueue } from '../state/queues.js';
import { Item, Lane } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isLinked, type Link, unlink } from '../structures/link.js';
import { type Past, Restored, type Stranded } from './restored.js';
import { checkAwaited } from './restored-dependencies.js';
import { RestoredItems } from './restored-items.js';
import { RestoredMemory } from './restored-memory.js';
import { RestoredTurns } from './restored-turns.js';

export type { Past, Stranded } from './restored.js';

/**
 * Rows say when a turn began and when a key was parked, but not since when a key was READY or in DELAY. Such a phase is
 * dated by the item at the head of the line, or by the last start, and is marked as one from before the start (S122).
 */
function noteBefore(lane: Lane): void {
  const { phase, line, startedAt = Number.NEGATIVE_INFINITY } = lane;
  const head = line?.head;
  const began =
    head instanceof Item ? Math.max(head.submittedAt, phase.at === 'READY' ? head.notBefore : 0) : startedAt;
  beganBefore(lane, began);
}

/** What is being restored, until it is complete. */
export class Restoring {
  readonly #restored: Restored;
  readonly #memory: RestoredMemory;
  readonly #turns: RestoredTurns;
  readonly #items: RestoredItems;
  /** Kept until all items are there: an end concerns the items before it (`seq`) that name it. */
  readonly #ends: EndRow[] = [];
  #now: number;
  #rest: Generator<undefined> | undefined;

  constructor(
    private readonly state: CoreState,
    past: Past,
    now: number,
  ) {
    this.#now = now;
    state.remembersTurns = past.lastWrite !== undefined;
    this.#restored = new Restored(state, past, now);
    this.#memory = new RestoredMemory(this.#restored);
    this.#turns = new RestoredTurns(this.#restored);
    this.#items = new RestoredItems(this.#restored, this.#turns, this.#memory);
  }

  get stranded(): readonly Stranded[] {
    return [...this.#restored.stranded].map(([queue, counts]) => ({ queue, ...counts }));
  }

  /** Memory of what is not remembered yet: no sum has it so far. */
  get uncountedBytes(): number {
    return this.#memory.size * COSTS.rememberedText;
  }

  add(rows: readonly Row[], now: number): void {
    this.state.changes?.begin(now);
    for (const row of rows) this.#add(row, now);
  }

  /**
   * Goes on with the second phase. The unit of the budget is one end, one prerequisite, one live turn or one lane.
   *
   * @returns whether more is left
   */
  finish(now: number, budget: number): boolean {
    this.state.changes?.begin(now);
    this.#now = now;
    this.#rest ??= this.#finish();
    for (let left = budget; left > 0; left--) if (this.#rest.next().done === true) return false;
    return true;
  }

  #add(row: Row, now: number): void {
    switch (row.table) {
      case 'floor':
        return this.#checkFloor(row.token);
      case 'pauses':
        return this.#addPause(row, now);
      case 'sessions':
        return this.#turns.addSession(row);
      case 'tokens':
        return this.#turns.add(row, now);
      case 'keys':
        return this.#memory.addKey(row, now);
      case 'parks':
        return this.#addPark(row, now);
      case 'progress':
        this.#restored.sawItem(row.seq);
        return this.#items.addProgress(row);
      case 'items':
        this.#restored.sawItem(row.seq);
        return this.#addItem(row, now);
      case 'limits':
        return this.#addLimits(row, now);
      case 'leaders':
        return restoreGroup(this.state, row, this.#restored.moment(row.since));
      case 'outbox':
        return this.#addParcel(row);
      case 'inbox':
        this.state.outgoing.inbox.set(row.source, row.stamp);
    }
  }

  /** The three kinds of rows in the table `items`, told apart by their state. */
  #addItem(row: ItemRow | FinishedRow | EndRow, now: number): void {
    if (row.state === 'open') this.#items.add(row, now);
    else if (row.state === 'ended') this.#ends.push(row);
    else this.#memory.addFinished(row, now);
  }

  /** Ids that are made here begin with the first token, so it has to be known before any queue is made. */
  #checkFloor(token: number): void {
    if (this.state.tokens.first < token) throw new RangeError(`tokenFloor of the start has to be ${token} at least`);
  }

  /** It may have been sent by the home before; then the other partition knows it. */
  #addParcel({ stamp, target, from, followUps, principal }: OutboxRow): void {
    const [bytes, laneBytes] = [bytesAway(followUps), lanesAway(followUps)];
    const account = this.state.accounts.of(principal);
    const parcel = new OutgoingParcel(stamp, target, from, followUps, bytes, laneBytes, account);
    parcel.isWritten = true;
    this.state.outgoing.add(parcel);
    this.state.payloadBytes += parcel.bytes;
  }

  #addPause(row: PauseRow, now: number): void {
    const queue = this.#restored.queue(row.queue, now);
    if (queue === undefined) this.state.changes?.stray({ table: 'pauses', queue: row.queue });
    else queue.paused = true;
  }

  #addLimits({ table, queue: name, rate, maxInFlight }: LimitsRow, now: number): void {
    const queue = this.#restored.queue(name, now);
    if (queue === undefined) this.state.changes?.stray({ table, queue: name });
    else limitQueue(queue, { rate, maxInFlight }, now);
  }

  #addPark(row: ParkRow, now: number): void {
    const { table, queue: queueName, key, lane: seq, because, itemId } = row;
    const queue = this.#restored.queue(queueName, now);
    if (queue === undefined) {
      this.state.changes?.stray({ table, queue: queueName, key, lane: seq });
      return;
    }
    const lane = this.#restored.lane(queue, key, seq);
    parkAgain(this.state, lane, { at: 'PARK', since: this.#restored.moment(row.since), because, itemId });
  }

  /**
   * The order matters:
   *
   * 1. ends that are on disk, before anything else can end the same names;
   * 2. `endAwaited` before `memory.finish`, because it adds what was handed out to what is to be remembered;
   * 3. `checkAwaited` when all that is remembered is there: it asks how every prerequisite stands;
   * 4. live turns, before the lanes: a lane that is held is not looked at;
   * 5. lanes with items that wait, in the order of their first items, then those of which only something is remembered.
   */
  *#finish(): Generator<undefined> {
    for (const row of this.#ends) {
      if (!this.state.dependencies.endedAs(row)) this.state.changes?.stray({ table: row.table, seq: row.seq });
      yield;
    }
    this.#memory.endAwaited(this.state);
    this.#memory.finish();
    this.#items.finish();
    yield* checkAwaited(this.state, () => this.#now);
    yield* this.#turns.finish(() => this.#now);
    yield* this.#bringToState(this.#restored.waiting);
    yield* this.#bringToState(this.#restored.lanes);
    for (const group of this.state.leaders.groups.values()) {
      resumeGroup(this.state, group, this.#now);
      yield;
    }
    keepWithin(this.state);
  }

  /** A lane that is held stays with its turn. One with nothing to do goes to the idle lanes. */
  *#bringToState(lanes: Link): Generator<undefined> {
    while (isLinked(lanes)) {
      const lane = lanes.next;
      unlink(lane);
      if (!(lane instanceof Lane)) throw new TypeError('only lanes are restored');
      resolve(this.state, lane, this.#now);
      restIfNew(this.state, lane);
      noteBefore(lane);
      yield;
    }
  }
}
