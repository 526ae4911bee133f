/**
 * Recounts everything that the core keeps twice, and looks that nobody stands at an open gate. It sees the inside of the
 * core and believes no count: what is wrong is said in one sentence.
 */
import assert from 'node:assert/strict';
import { lacks, needOfWaiter } from '../../src/core/admission/capacity.js';
import { LANE_STATES } from '../../src/core/contract/model.js';
import { weightOfItem } from '../../src/core/items/content.js';
import { closedGate } from '../../src/core/lane/gates.js';
import { delayOf } from '../../src/core/lane/resolve.js';
import { FarPrerequisite, isHeldBack } from '../../src/core/state/dependencies.js';
import { STATES } from '../../src/core/state/lane-states.js';
import {
  Caller,
  type DispatchTicket,
  type Entry,
  Item,
  type Lane,
  type Prerequisite,
  type Queue,
  Session,
  Turn,
} from '../../src/core/state/records.js';
import { LOST, type Settlement } from '../../src/core/state/settlement.js';
import { hasFollowUps, settledTokens, settlementOf } from '../../src/core/state/settlements.js';
import type { CoreState } from '../../src/core/state/state.js';
import { isLinked, type Link } from '../../src/core/structures/link.js';
import { recountAccounts } from './recount-accounts.js';
import { recountMemory } from './recount-memory.js';

const NO_END = LOST.evicted;
/** S18: so many of a key are remembered. */
const SETTLEMENTS = 8;

/** To be called when a step has ended. */
export function recount(state: CoreState, now: number): void {
  new Recount(state, now).run();
}

class Recount {
  /** Nothing that is due is left to happen. */
  readonly #isOnTime: boolean;
  readonly #sessions = new Map<Session, { turns: number; durable: number }>();
  readonly #tickets = new Map<DispatchTicket, number>();
  readonly #waits = new Set<Link>();
  #bytes = 0;
  #callers = 0;
  #busy = 0;
  readonly #remembered = new Set<Settlement>();
  /** Lanes in INIT of all queues. */
  readonly #idle = new Set<Link>();
  /** Those of them that stand in the ring of the youngest, by their places. */
  readonly #young = new Map<number, Lane>();
  /** Those that stand in the list. */
  readonly #aged: Lane[] = [];
  #awaits = 0;
  #dependencies = 0;
  #far = 0;
  /** Of what is waited for: how many of those that wait are on disk. */
  readonly #onDisk = new Map<Prerequisite, number>();

  constructor(
    private readonly state: CoreState,
    private readonly now: number,
  ) {
    this.#isOnTime = state.wheel.wakeAt > now;
  }

  run(): void {
    const { state } = this;
    equal(state.dirty.length + state.roomDirty.size, 0, 'the step is finished');
    let roomWaiters = 0;
    let roomBytes = 0;
    for (const [name, queue] of state.queues) {
      equal(queue.name, name, 'a queue stands under its name');
      this.#queue(queue);
      roomWaiters += queue.roomWaiters.size;
      for (const { bytes } of queue.roomWaiters) roomBytes += bytes;
    }
    equal(state.roomBytes, roomBytes, 'bytes of those who wait for room');
    equal(state.busyLanes, this.#busy, 'busy lanes');
    this.#checkIdle();
    equal(state.waiting.caller, this.#callers, 'callers that wait');
    equal(state.waiting.acquire, this.#waits.size, 'Acquire calls that wait');
    equal(state.waiting.room, roomWaiters, 'Submits that wait for room');
    equal(state.waiting.await_item, this.#awaits, 'Await calls that wait');
    equal(state.dependencies.size, this.#dependencies, 'dependencies');
    equal(state.dependencies.far.size, this.#far, 'what is waited for in other groups');
    for (const [on, count] of this.#onDisk) equal(on.onDisk, count, `${on.itemId}: those that wait for it on disk`);
    this.#leaders();
    this.#outgoing();
    equal(state.payloadBytes, this.#bytes, 'payload bytes');
    equal(state.memoryBytes, recountMemory(state, weightOfItem), 'memory of everything that is held');
    recountAccounts(state, weightOfItem);
    this.#checkSessions();
    this.#checkTickets();
    this.#checkKeptRoom();
  }

  #checkKeptRoom(): void {
    const sources = new Set<number>();
    for (const [queue, kept] of this.state.keptRoom) {
      equal(this.state.queues.get(queue.name), queue, 'places of a queue that is there');
      ok(kept.queue === queue && isLinked(kept), 'kept places are given up');
      const [first] = kept.line.values();
      ok(kept.places <= (kept.rests ? 0 : (first?.places ?? 0)), 'no more is kept than the first needs');
      ok(kept.others <= (kept.rests ? 0 : queue.policy.maxWaiting), 'places of others');
      ok(!kept.isReplaced, 'what replaces another is in its place');
      for (const [source, { places }] of kept.line) {
        ok(!sources.has(source), `partition ${source} stands in one line`);
        sources.add(source);
        ok(places <= queue.policy.maxWaiting, 'nothing is kept for what cannot come');
      }
    }
  }

  /** Whatever is kept of groups, twice. */
  #leaders(): void {
    const { leaders } = this.state;
    let [candidates, watchers, terms] = [0, 0, 0];
    for (const [name, group] of leaders.groups) {
      equal(group.name, name, 'a group stands under its name');
      candidates += group.candidates.size;
      watchers += group.watchers.size;
      this.#bytes += group.state.length;
      for (const [id, candidate] of group.candidates) {
        equal(candidate.id, id, 'a candidate stands under its id');
        assert.ok(candidate !== group.term?.candidate, `${id} leads and stands`);
      }
      if (group.term !== undefined) terms += 1;
      if (group.term !== undefined)
        assert.ok(isLinked(group) && group.due <= group.term.leaseEnd, `${name} has a timer`);
      assert.ok(group.predecessor.term < (group.term?.token ?? Number.POSITIVE_INFINITY), `${name}: terms grow`);
    }
    equal(leaders.candidates, candidates, 'candidates');
    equal(leaders.watchers, watchers, 'who watches leaders');
    equal(leaders.terms, terms, 'terms of leaders');
  }

  /** What goes to other partitions: in order, counted and charged. */
  #outgoing(): void {
    const { outgoing } = this.state;
    let size = 0;
    for (const target of outgoing.targets()) {
      let last = 0;
      for (const parcel of outgoing.line(target)) {
        assert.ok(parcel.stamp > last, `parcels for ${target} stand in order`);
        equal(parcel.target, target, 'a parcel stands in the line of its partition');
        last = parcel.stamp;
        size += 1;
        this.#bytes += parcel.bytes;
      }
      assert.ok(last > 0, `no line for ${target} is empty`);
    }
    equal(outgoing.size, size, 'parcels for other partitions');
  }

  #queue(queue: Queue): void {
    const lanes = lanesOf(queue);
    const states = new Map<string, number>(LANE_STATES.map((state) => [state, 0]));
    const inLines = new Set<Entry>();
    const carried = new Set<Item>();
    let live = 0;
    for (const lane of lanes) {
      this.#lane(lane, inLines, carried);
      const row = laneState(lane);
      states.set(row, (states.get(row) ?? 0) + 1);
      if (lane.phase.at === 'HELD') live += 1;
    }
    for (const state of LANE_STATES) equal(queue.states.of(STATES[state]), states.get(state), `lanes in ${state}`);
    equal(queue.inFlight, live, 'turns in flight');
    for (const lane of queue.withFollowUps) ok(lanes.has(lane), `${lane.key} keeps follow-ups, and is not forgotten`);
    this.#checkEntries(queue, inLines, carried);
    this.#checkReady(queue, lanes);
    this.#checkCalls(queue);
    if (this.#isOnTime) this.#checkGates(queue);
    equal(queue.dirty, false, 'a queue that is not looked at any more is not marked');
    equal(this.state.roomQueues.has(queue), queue.roomWaiters.size > 0, 'queues in which somebody waits for room');
  }

  #lane(lane: Lane, inLines: Set<Entry>, carried: Set<Item>): void {
    const { phase, line, queue, key } = lane;
    equal(lane.counted.state, laneState(lane), `${key}: the state as it is counted`);
    if (key !== '') equal(queue.lanes.get(key), lane, `${key} has one lane`);
    const rests = phase.at === 'INIT';
    if (rests) this.#rest(lane);
    else this.#busy += 1;
    equal(lane.rests !== undefined, rests, `${key} is ${phase.at}: idle mark`);
    if (line !== undefined) walkLine(lane, line, inLines);
    if (rests) equal(line, undefined, `${key} is INIT: nobody waits`);
    this.#checkPlace(lane);
    this.#checkKeyTickets(lane);
    if (phase instanceof Turn) this.#turn(phase, carried);
    const keeping = [...settledTokens(lane)].filter((token) =>
      hasFollowUps(settlementOf(lane, token)?.ending ?? NO_END),
    );
    ok(keeping.length <= 1, `${key}: one settlement keeps its follow-ups`);
    equal(queue.withFollowUps.has(lane), keeping.length > 0, `${key}: its queue knows that it keeps follow-ups`);
    this.#checkMemory(lane);
    for (const token of key === '' ? settledTokens(lane) : []) equal(queue.keyless.get(token), lane, 'a settled token');
    if (this.#isOnTime) this.#checkDelay(lane);
  }

  #rest(lane: Lane): void {
    const { rests, key } = lane;
    this.#idle.add(lane);
    if (rests === -1) this.#aged.push(lane);
    else if (rests !== undefined) {
      equal(this.#young.get(rests), undefined, `${key} has its place among the youngest for itself`);
      this.#young.set(rests, lane);
    }
  }

  /** Whoever rests does so in one place: in the ring, or once in the list, in which nobody else stands. */
  #checkIdle(): void {
    const { idle, share } = this.state;
    equal(idle.size, this.#idle.size, 'idle lanes');
    // With others its bound may have become less just now.
    if (share === undefined) ok(idle.size <= idle.bound, `${idle.size} idle lanes, of ${idle.bound}`);
    const [first] = this.#aged;
    if (first === undefined) return;
    let listed = 1;
    let others = 0;
    for (let link = first.next; link !== first; link = link.next) {
      equal(link.next.prev, link, 'the list of the idle ones reads the same from both ends');
      if (this.#idle.has(link)) listed += 1;
      else others += 1;
      ok(listed <= this.#aged.length && others <= 1, 'nobody but idle lanes, each once, between head and tail');
    }
    equal(listed, this.#aged.length, 'idle lanes of the list');
  }

  /** The records of its last turns are its own, though they were another's. */
  #checkMemory({ key, settlements: oldest }: Lane): void {
    if (oldest === undefined) return;
    const ring = new Set<Settlement>();
    for (let next = oldest; !ring.has(next); next = next.newer) ring.add(next);
    equal([...ring].at(-1)?.newer, oldest, `${key}: what is remembered of it is a ring`);
    for (const settlement of ring) {
      ok(!this.#remembered.has(settlement), `${key} remembers a turn of another`);
      this.#remembered.add(settlement);
      equal(settlement.isFull, ring.size === SETTLEMENTS, `${key}: whether it remembers as many as may be`);
    }
  }

  /** A lane stands in one list: the wheel, a ready list, that of its session; or in none. */
  #checkPlace(lane: Lane): void {
    const { phase, key } = lane;
    if (phase.at === 'READY' || phase.at === 'HELD') ok(isLinked(lane), `${key} is ${phase.at} and in a list`);
    if (phase.at === 'PARK') ok(!isLinked(lane), `${key} is PARK and in no list`);
    // The youngest of the idle ones stand in a ring, the others in a list, which `#checkIdle` walks.
    if (phase.at === 'INIT')
      equal(isLinked(lane), lane.rests === -1, `${key} is INIT and in no list but that of the idle`);
    if (phase.at === 'DELAY') equal(isLinked(lane), phase.because !== 'dependency', `${key} waits for a moment`);
    const isTimed = phase.at === 'DELAY' ? phase.because !== 'dependency' : phase instanceof Turn && !isTied(phase);
    if (isTimed)
      ok(lane.due >= this.now || this.state.wheel.wakeAt <= lane.due, `${key}: its end is not slept through`);
  }

  #turn(turn: Turn, carried: Set<Item>): void {
    const { lane, owner, assignment, ticket, token } = turn;
    const { queue } = lane;
    if (lane.key === '') equal(queue.keyless.get(token), lane, 'a keyless turn is found by its token');
    if (owner instanceof Session) {
      const tied = this.#sessions.get(owner) ?? { turns: 0, durable: 0 };
      tied.turns += 1;
      if (queue.changes !== undefined) tied.durable += 1;
      this.#sessions.set(owner, tied);
    }
    if (typeof ticket === 'object') {
      this.#tickets.set(ticket, (this.#tickets.get(ticket) ?? 0) + 1);
      equal(ticket.lanes.get(token), lane, 'a turn of a dispatch ticket is reached by it');
    }
    ok(assignment.kind !== 'items' || assignment.items.length > 0, 'a turn of items has some');
    if (assignment.kind !== 'items') return;
    for (const item of assignment.items) {
      equal(item.phase.at, assignment.done ? 'handed_out' : 'in_flight', `${item.id} in a turn`);
      if (assignment.done) ok(!queue.items.holds(item), `${item.id} is handed out, and is not known as open`);
      else carried.add(item);
    }
  }

  #checkKeyTickets(lane: Lane): void {
    const expected = new Map<string, Caller | Turn>();
    for (const entry of entriesOf(lane))
      if (entry instanceof Caller && entry.ticket !== undefined) expected.set(entry.ticket, entry);
    if (lane.phase instanceof Turn && typeof lane.phase.ticket === 'string')
      expected.set(lane.phase.ticket, lane.phase);
    equal(lane.tickets?.size ?? 0, expected.size, `${lane.key}: tickets`);
    for (const [ticket, place] of expected) equal(lane.tickets?.get(ticket), place, `${lane.key}: ticket ${ticket}`);
    if (expected.size === 0) equal(lane.tickets, undefined, `${lane.key}: no ticket, no map`);
  }

  /** Whoever is delayed is so for a reason that still holds; whoever is not could start. */
  #checkDelay(lane: Lane): void {
    const { phase, key, line } = lane;
    if (phase.at === 'HELD' || phase.at === 'PARK') return;
    const delay = delayOf(lane, line?.head, this.now);
    equal(phase.at === 'DELAY', delay !== undefined, `${key} is ${phase.at}: delay`);
    if (delay?.until !== undefined) equal(lane.due, delay.until, `${key}: until when`);
    if (phase.at === 'READY')
      equal(phase.waitsFor === 'gate', line?.head instanceof Caller, `${key}: what it waits for`);
  }

  #checkEntries(queue: Queue, inLines: ReadonlySet<Entry>, carried: ReadonlySet<Item>): void {
    let items = 0;
    let callers = 0;
    for (const entry of inLines) {
      if (entry instanceof Caller) {
        callers += 1;
        ok(queue.callers.has(entry), 'a caller of a line is among those of the queue');
        ok(entry.asker !== undefined || entry.ticket !== undefined, 'nobody waits who is gone and left no ticket');
        ok(isLinked(entry), 'the wait of a caller ends');
      } else {
        items += 1;
        equal(entry.phase.at, 'waiting', `${entry.id} in a line`);
        ok(queue.items.holds(entry), `${entry.id} is known by its id`);
        this.#checkWaits(entry);
      }
    }
    equal(queue.waitingItems, items, 'items that wait');
    equal(queue.callers.size, callers, 'callers of the queue');
    this.#callers += callers;
    for (const item of carried) ok(queue.items.holds(item), `${item.id} in flight is known by its id`);
    equal(queue.items.size, items + carried.size, 'items that are kept');
    for (const letter of queue.deadLetters.values()) {
      const { item } = letter;
      equal(item.phase, letter, `${item.id} among the dead letters`);
      ok(!queue.items.has(item.id), `${item.id} is dead, and not kept besides`);
      this.#bytes += weightOfItem(item);
    }
    for (const item of queue.items.scan()) {
      equal(item.lane.queue, queue, 'an item is of its queue');
      equal(queue.finished.peek(item.id), undefined, `${item.id} is kept, and not finished besides`);
      if (this.state.keepsContents) ok(item.stored?.where !== 'away', `${item.id} has what it carries`);
      this.#bytes += weightOfItem(item);
    }
  }

  #checkWaits(item: Item): void {
    const { waits } = item;
    if (waits === undefined) return;
    const open = waits.dependencies.filter(isLinked);
    equal(waits.left, open.length, `${item.id}: what it waits for`);
    this.#dependencies += open.length;
    for (const { on } of open) {
      this.#onDisk.set(on, (this.#onDisk.get(on) ?? 0) + (item.stored === undefined ? 0 : 1));
      const { end } = on;
      if (end !== undefined) ok(this.state.dependencies.hasNews, 'those who wait for what ended will be told');
      else if (on instanceof FarPrerequisite) this.#checkFar(on);
      else {
        equal(this.state.dependencies.find(on), on, `${on.itemId} is found as waited for`);
        ok(!this.#hasEnded(on.queue, on.itemId), `${on.itemId} has ended: ${item.id} is told`);
      }
    }
    if (this.state.dependencies.hasNews) ok(isLinked(this.state.newsTimer), 'the news goes on');
  }

  #checkFar(on: FarPrerequisite): void {
    ok(this.state.dependencies.far.has(on), `${on.itemId} is asked for elsewhere`);
    this.#far += 1;
  }

  #hasEnded(name: string, id: string): boolean {
    const queue = this.state.queues.get(name);
    return queue !== undefined && !queue.items.has(id) && queue.deadLetters.has(id);
  }

  #checkReady(queue: Queue, lanes: ReadonlySet<Lane>): void {
    const listed = new Set<Link>();
    for (const [list, waitsFor] of [
      [queue.gatedLanes, 'gate'],
      [queue.readyLanes, 'worker'],
    ] as const) {
      let before = 0;
      for (let link = list.next; link !== list; link = link.next) {
        const lane = link as Lane; // nothing else is ready
        ok(
          lane.phase.at === 'READY' && lane.phase.waitsFor === waitsFor,
          `${lane.key} stands in the list of those ready`,
        );
        ok(lane.phase.at === 'READY' && lane.phase.order > before, 'first ready first');
        before = lane.phase.at === 'READY' ? lane.phase.order : before;
        listed.add(link);
      }
    }
    for (const lane of lanes) equal(lane.phase.at === 'READY', listed.has(lane), `${lane.key}: listed as ready`);
  }

  #checkCalls(queue: Queue): void {
    for (const waiter of queue.waiters) {
      this.#waits.add(waiter);
      ok(isLinked(waiter), 'the wait of an Acquire ends');
      if (waiter.ticket === undefined) continue;
      equal(waiter.ticket.waiter, waiter, 'a dispatch ticket knows who waits with it');
      this.#tickets.set(waiter.ticket, this.#tickets.get(waiter.ticket) ?? 0);
    }
    for (const waiter of queue.roomWaiters) ok(isLinked(waiter), 'the wait of a Submit ends');
    for (const [id, waiters] of queue.awaits) {
      ok(waiters.size > 0 && queue.items.has(id), `whoever awaits ${id} awaits what is open`);
      this.#awaits += waiters.size;
    }
  }

  #checkGates(queue: Queue): void {
    const gate = closedGate(this.state, queue, this.now);
    const isWanted = isLinked(queue.gatedLanes) || (queue.waiters.size > 0 && isLinked(queue.readyLanes));
    if (gate === undefined) ok(!isWanted, `${queue.name}: nobody stands at an open gate`);
    else if (gate.until !== undefined && isWanted)
      ok(
        isLinked(queue.gateTimer) && queue.gateTimer.due <= Math.ceil(gate.until),
        'the opening of a gate is not missed',
      );
    const [first] = queue.roomWaiters;
    if (first === undefined) return;
    const need = needOfWaiter(this.state, first, this.now);
    ok(
      'entries' in need && lacks(this.state, queue, need) !== undefined,
      `${queue.name}: nobody waits for room that is there`,
    );
  }

  #checkSessions(): void {
    for (const [session, { turns, durable }] of this.#sessions) {
      equal(session.size, turns, `session ${session.id}: turns`);
      equal(session.durable, durable, `session ${session.id}: durable turns`);
      if (this.#isOnTime) equal(this.state.sessions.get(session.id), session, `session ${session.id} is known`);
    }
    for (const [id, session] of this.state.sessions) {
      equal(session.id, id, 'a session stands under its id');
      if (session.stream === undefined) ok(session.size > 0 && isLinked(session), `session ${id} is broken, and ends`);
      else equal(session.stream.session, session, `session ${id} and its stream know each other`);
      if (!this.#sessions.has(session)) equal(session.size, 0, `session ${id} has no turns`);
      let listed = 0;
      for (let lane = session.firstTied; lane !== undefined; lane = session.tiedAfter(lane)) listed += 1;
      equal(listed, session.size, `session ${id}: its list`);
    }
  }

  #checkTickets(): void {
    equal(this.state.dispatchTickets.size, this.#tickets.size, 'dispatch tickets');
    for (const [ticket, turns] of this.#tickets) {
      equal(
        this.state.dispatchTickets.open(ticket.consumerId, ticket.id),
        ticket,
        `dispatch ticket ${ticket.id} is known`,
      );
      equal(ticket.lanes.size, turns, `dispatch ticket ${ticket.id}: turns`);
      if (ticket.waiter !== undefined)
        ok(this.#waits.has(ticket.waiter), `dispatch ticket ${ticket.id}: its call waits`);
    }
  }
}

function isTied({ owner }: Turn): boolean {
  return owner instanceof Session;
}

/** Those of keys, and keyless ones as far as anybody can find them. */
function lanesOf(queue: Queue): ReadonlySet<Lane> {
  const lanes = new Set<Lane>(queue.lanes.values());
  for (const lane of queue.keyless.values()) lanes.add(lane);
  for (const lane of queue.keylessParked) lanes.add(lane);
  for (const item of queue.items.scan()) lanes.add(item.lane);
  return lanes;
}

function laneState({ phase, line }: Lane): string {
  return phase.at === 'HELD' ? (line === undefined ? 'PROCESS' : 'BLOCK') : phase.at;
}

function* entriesOf({ line }: Lane): Generator<Entry> {
  for (let entry = line?.head; entry !== undefined; entry = entry.behind) yield entry;
}

function walkLine(lane: Lane, line: NonNullable<Lane['line']>, inLines: Set<Entry>): void {
  let before: Entry | undefined;
  let length = 0;
  let callers = 0;
  let taken = 0;
  let brokenOff = 0;
  let takenByBrokenOff = 0;
  for (const entry of entriesOf(lane)) {
    equal(entry.lane, lane, 'an entry is of its lane');
    equal(entry.before, before, 'a line reads the same from both ends');
    inLines.add(entry);
    length += 1;
    if (entry instanceof Caller) callers += 1;
    if (entry.takesRoom) taken += 1;
    if (entry.brokeOff) brokenOff += 1;
    if (entry.brokeOff && entry.takesRoom) takenByBrokenOff += 1;
    ok(!(entry instanceof Caller && entry.brokeOff && entry.asker !== undefined), 'a call that broke off is not open');
    before = entry;
  }
  equal(line.tail, before, 'a line ends with its last');
  ok(length > 0, 'an empty line is none');
  assert.deepEqual(
    [line.length, line.callers, line.taken, line.brokenOff, line.takenByBrokenOff],
    [length, callers, taken, brokenOff, takenByBrokenOff],
    `line of ${lane.key}`,
  );
  ok(
    !(line.head instanceof Item && isHeldBack(line.head) && lane.phase.at === 'READY'),
    'what waits for others is not ready',
  );
}

/** As `assert.equal`, which builds more than a step of the core costs. */
function equal(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) assert.fail(`${what}: ${shown(actual)}, counted ${shown(expected)}`);
}

function ok(holds: boolean, what: string): void {
  if (!holds) assert.fail(`not so: ${what}`);
}

function shown(value: unknown): string {
  return typeof value === 'object' && value !== null ? value.constructor.name : String(value);
}
