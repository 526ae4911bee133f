/** Why a key does not move, and the other questions of people. */
import { nameOf } from './answers.js';
import { openOf } from './dependencies.js';
import { closedGate } from './gates.js';
import { type Delay, type Lane, stateOf, type Turn, turnOf } from './lane.js';
import { Caller, type Entry, Item } from './line.js';
import type { Queue } from './queue.js';
import { delayOf } from './resolve.js';
import { Session } from './session.js';
import type { CoreState } from './state.js';
import { endOf } from './tenure.js';
import { isDispatchTicket } from './turns.js';
import type { AfterView, HolderView, KeyExplanation, LineEntryView, SessionView } from './views.js';

/** Entries of a line that are told. */
const TOLD = 100;
/** Items that one of them waits for. */
const AWAITED_TOLD = 10;

const NOTHING: Omit<KeyExplanation, 'deadLetters'> = Object.freeze({
  state: 'INIT',
  since: undefined,
  holder: undefined,
  waitingCallers: 0,
  waitingItems: 0,
  line: [],
  attempts: 0,
  lastError: undefined,
  why: '',
  until: undefined,
});

export function explainKey(state: CoreState, queue: Queue | undefined, key: string, now: number): KeyExplanation {
  const lane = queue?.lanes.get(key);
  const deadLetters = queue === undefined ? 0 : countDead(queue, key);
  if (queue === undefined || lane === undefined) return { ...NOTHING, deadLetters };
  const { line } = lane;
  const turn = turnOf(lane);
  const subject = turn?.cargo.kind === 'items' ? turn.cargo.items[0] : line?.head;
  const item = subject instanceof Item ? subject : undefined;
  const { why, until } = whyOf(state, lane, now);
  return {
    state: stateOf(lane),
    since: wall(state, sinceOf(lane)),
    holder: turn === undefined ? undefined : holderView(state, turn, now),
    waitingCallers: line?.callers ?? 0,
    waitingItems: (line?.length ?? 0) - (line?.callers ?? 0),
    line: lineView(state, line?.head),
    attempts: item === undefined ? 0 : item.attempts + (item.inFlight ? 1 : 0),
    lastError: item?.lastError,
    why,
    until: wall(state, until),
    deadLetters,
  };
}

/** Since when a lane is in its state; a held one since its turn began. */
export function sinceOf(lane: Lane): number | undefined {
  return lane.phase.at === 'INIT' ? undefined : lane.phase.since;
}

export function wall(state: CoreState, moment: number | undefined): number | undefined {
  return moment === undefined ? undefined : moment + state.wallOffset;
}

/** Looks at all of them: they are bounded, and nobody asks often. */
function countDead(queue: Queue, key: string): number {
  let count = 0;
  for (const letter of queue.deadLetters.values()) if (letter.key === key) count += 1;
  return count;
}

function holderView(state: CoreState, turn: Turn, now: number): HolderView {
  const { ticket, cargo } = turn;
  const ticketId = isDispatchTicket(ticket) ? ticket.id : ticket;
  return {
    consumerId: turn.consumerId,
    token: turn.token,
    since: turn.since + state.wallOffset,
    leaseLeft: Math.max(0, endOf(turn) - now),
    renewals: turn.renewals,
    items: cargo.kind === 'items' ? cargo.items.length : 0,
    heldForTicket: turn.handed === 'kept' ? ticketId : undefined,
    session: turn.owner instanceof Session ? sessionView(state, turn.owner) : undefined,
  };
}

function sessionView(state: CoreState, { id, stream, brokenAt }: Session): SessionView {
  return { id, brokenSince: stream === undefined ? brokenAt + state.wallOffset : undefined };
}

function lineView(state: CoreState, head: Entry | undefined): LineEntryView[] {
  const told: LineEntryView[] = [];
  for (let entry = head; entry !== undefined && told.length < TOLD; entry = entry.behind) {
    const common = { id: nameOf(entry) };
    if (entry instanceof Caller) {
      const since = entry.arrivedAt + state.wallOffset;
      told.push({ ...common, kind: 'caller', since, attempts: 0, lastError: undefined });
    } else {
      const { submittedAt, attempts, lastError } = entry;
      const since = submittedAt + state.wallOffset;
      told.push({ ...common, kind: 'item', since, attempts, lastError, after: afterView(entry) });
    }
  }
  return told;
}

interface Why {
  readonly why: string;
  readonly until: number | undefined;
}

/** What keeps the key from moving. */
export function whyOf(state: CoreState, lane: Lane, now: number): Why {
  const { phase } = lane;
  switch (phase.at) {
    case 'INIT':
      return { why: '', until: undefined };
    case 'HELD':
      return { why: heldBy(phase), until: endOrNever(phase) };
    case 'PARK':
      return { why: parkedBecause(phase.because, phase.itemId), until: undefined };
    case 'DELAY':
      return delayed(lane, phase.because, now);
    case 'READY':
      return gateOrWorker(state, lane, phase.waitsFor, now);
  }
}

function heldBy(turn: Turn): string {
  if (turn.handed === 'kept') return `the turn is held for an absent caller until its ticket ends`;
  if (turn.owner instanceof Session) return `${turn.consumerId} holds it and ${keptBy(turn.owner)}`;
  const since = turn.renewals === 0 ? 'has not renewed its lease' : `has renewed its lease ${turn.renewals} times`;
  return `${turn.consumerId} holds it and ${since}`;
}

function keptBy({ id, stream }: Session): string {
  return stream === undefined ? `its session "${id}" is broken` : `its session "${id}" renews it`;
}

function endOrNever(turn: Turn): number | undefined {
  const end = endOf(turn);
  return end === Number.POSITIVE_INFINITY ? undefined : end;
}

function parkedBecause(because: 'dead_letter' | 'no_room', itemId: string): string {
  if (because === 'dead_letter') return `parked: item ${itemId} became a dead letter; ResumeKey lets the key go on`;
  return `parked: item ${itemId} is out of attempts and there is no room for dead letters (max_dead_letters)`;
}

function delayed(lane: Lane, because: Delay['because'], now: number): Why {
  const head = lane.line?.head;
  const { until } = delayOf(lane, head, now) ?? { until: lane.due };
  if (because !== 'dependency' || !(head instanceof Item)) return { why: DELAYED[because], until };
  return { why: `${DELAYED[because]}: ${namesOf(afterView(head))}`, until };
}

/** What an item waits for, by name; there may be a hundred. */
export function afterView({ waits }: Item): AfterView | undefined {
  if (waits === undefined || waits.left === 0) return undefined;
  const first = openOf(waits).slice(0, AWAITED_TOLD);
  return { first: first.map(({ queue, itemId }) => ({ queue, itemId })), count: waits.left };
}

function namesOf(after: AfterView | undefined): string {
  if (after === undefined) return 'they ended, and it will be looked at soon';
  const names = after.first.map(({ queue, itemId }) => `${itemId} of queue ${queue}`);
  const more = after.count - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const DELAYED = {
  delay: 'the item at the head is delayed',
  retry: 'the item at the head failed and waits for its next try',
  min_interval: 'min_interval has not passed since the last turn started',
  dependency: 'the item at the head waits for others to be done',
} as const;

const GATES = {
  paused: 'the queue is paused',
  startup_hold: 'startup_hold keeps turns back after the start',
  max_in_flight: 'as many turns live as max_in_flight allows',
  rate: 'the rate of the queue allows no turn yet',
  tokens: 'the disk has not taken the reserve of tokens: all that were reserved are used up',
} as const;

function gateOrWorker(state: CoreState, lane: Lane, waitsFor: 'gate' | 'worker', now: number): Why {
  const gate = closedGate(state, lane.queue, now);
  if (gate !== undefined) return { why: GATES[gate.why], until: gate.until };
  const why = waitsFor === 'gate' ? 'other keys are before it at the gate' : 'no worker has acquired it yet';
  return { why, until: undefined };
}
