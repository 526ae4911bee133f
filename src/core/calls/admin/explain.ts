/**
 * ExplainKey: how a key stands, and why it does not move. Also the pieces that other views share.
 *
 * Nothing here changes a lane. The core counts in ms of its own clock; `wall` makes instants for people of them.
 */

import type {
  CarriedView,
  HolderView,
  KeyExplanation,
  LineEntryView,
  NamedView,
  SessionView,
  TracedView,
} from '../../contract/views.js';
import { attemptOf } from '../../items/item-status.js';
import { nameOf } from '../../lane/answers.js';
import { endOf } from '../../lane/lease.js';
import { awaitedBy } from '../../state/dependencies.js';
import { stateOf, turnOf } from '../../state/lane.js';
import { Caller, type Entry, Item, type Lane, type Queue, Session, type Turn } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { awaitedName, heldUpOutside, whyOf } from './why.js';

/** Entries of a line that are shown. A line may be very long. */
export const MOST_TOLD = 100;

/** Items of a turn that are shown. */
const MOST_CARRIED = 10;
/** Of W3C Trace Context. */
const TRACE_HEADER = 'traceparent';

/** A key without a lane: nothing is to be done for it. It may still have dead letters. */
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

/**
 * The state of a key with its holder, the first entries of its line, and the reason why it does not move (S122, S123).
 * Its cost does not grow with the length of the line.
 *
 * Precondition: the lane is up to date (S1).
 */
export function explainKey(
  state: CoreState,
  name: string,
  queue: Queue | undefined,
  key: string,
  now: number,
): KeyExplanation {
  const lane = queue?.lanes.get(key);
  const deadLetters = queue === undefined ? 0 : countDead(queue, key);
  const outside = heldUpOutside(state, name, { key }, now);
  if (queue === undefined || lane === undefined) return { ...NOTHING, deadLetters, why: outside };
  const { line } = lane;
  const turn = turnOf(lane);
  const item = itemOf(lane);
  const { why, until } = whyOf(state, lane, now);
  return {
    state: stateOf(lane),
    since: wall(state, sinceOf(lane)),
    holder: turn === undefined ? undefined : holderView(state, turn, now),
    waitingCallers: line?.callers ?? 0,
    waitingItems: (line?.length ?? 0) - (line?.callers ?? 0),
    line: lineView(state, line?.head),
    attempts: item === undefined ? 0 : attemptOf(item),
    lastError: item?.lastError,
    why: why === '' ? outside : why,
    until: wall(state, until),
    deadLetters,
    named: namedBy(lane),
  };
}

/** Of an item at the head that waits for others: which `whyOf` names. */
export function namedBy({ line }: Lane): readonly NamedView[] | undefined {
  const after = line?.head instanceof Item ? awaitedBy(line.head) : undefined;
  return after?.first.map((one) => ({ ...one, as: awaitedName(one) }));
}

/** The item that the lane is about: the first one of its turn, else the head of its line. */
export function itemOf(lane: Lane): Item | undefined {
  const turn = turnOf(lane);
  const subject = turn?.assignment.kind === 'items' ? turn.assignment.items[0] : lane.line?.head;
  return subject instanceof Item ? subject : undefined;
}

/**
 * Since when a lane is in its state, ms of the core's clock; a held one since its turn began or was handed over. Unset:
 * nothing says it, of an idle key and of what was READY or in DELAY before the start (S122).
 */
export function sinceOf({ phase }: Lane): number | undefined {
  if (phase.at === 'INIT') return undefined;
  return (phase.at === 'READY' || phase.at === 'DELAY') && phase.fromBefore ? undefined : phase.since;
}

/**
 * A moment of the core's clock as an instant of the wall clock, ms since the Unix epoch. For answers, never compared.
 */
export function wall(state: CoreState, moment: number | undefined): number | undefined {
  return moment === undefined ? undefined : moment + state.wallOffset;
}

/**
 * Looks at all dead letters of the queue: `max_dead_letters` bounds them. An index by key is not kept for this
 * question.
 */
export function countDead(queue: Queue, key: string): number {
  let count = 0;
  for (const letter of queue.deadLetters.values()) if (letter.key === key) count += 1;
  return count;
}

/** The live turn. `leaseLeft` is ms, and Infinity for a tied turn that no time ends. */
function holderView(state: CoreState, turn: Turn, now: number): HolderView {
  const { ticket, assignment } = turn;
  const ticketId = typeof ticket === 'string' ? ticket : ticket?.id;
  return {
    consumerId: turn.consumerId,
    token: turn.token,
    since: turn.since + state.wallOffset,
    leaseLeft: Math.max(0, endOf(turn) - now),
    renewals: turn.renewals,
    items: assignment.kind === 'items' ? assignment.items.length : 0,
    heldForTicket: turn.handed === 'kept' ? ticketId : undefined,
    session: turn.owner instanceof Session ? sessionView(state, turn.owner) : undefined,
    carried: assignment.kind === 'items' ? assignment.items.slice(0, MOST_CARRIED).map(carriedView) : undefined,
  };
}

function carriedView(item: Item): CarriedView {
  return { itemId: item.id, attempt: attemptOf(item), ...tracedView(item) };
}

function tracedView({ stored, seq, headers }: Item): TracedView {
  return stored?.where === 'away' ? { stored: seq } : { traceparent: headers?.get(TRACE_HEADER) };
}

/** The session that keeps a turn alive. `brokenAt` means something only without a stream. */
function sessionView(state: CoreState, { id, stream, brokenAt }: Session): SessionView {
  return { id, brokenSince: stream === undefined ? brokenAt + state.wallOffset : undefined };
}

/** The entries from the head of the line on, `MOST_TOLD` at most. */
function lineView(state: CoreState, head: Entry | undefined): LineEntryView[] {
  const told: LineEntryView[] = [];
  for (let entry = head; entry !== undefined && told.length < MOST_TOLD; entry = entry.behind)
    told.push(entryView(state, entry));
  return told;
}

/** One entry of a line. A caller tries only once, so it has no attempts and no error. */
export function entryView(state: CoreState, entry: Entry): LineEntryView {
  const id = nameOf(entry);
  if (entry instanceof Caller) {
    const since = entry.arrivedAt + state.wallOffset;
    return { id, kind: 'caller', since, attempts: 0, lastError: undefined };
  }
  const { submittedAt, attempts, lastError } = entry;
  const since = submittedAt + state.wallOffset;
  return { id, kind: 'item', since, attempts, lastError, after: awaitedBy(entry), ...tracedView(entry) };
}
