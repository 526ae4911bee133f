/**
 * Why a key does not move, in one sentence, and until when (S123).
 *
 * Told is the first cause that keeps the key: its holder, a park, a delay; then what is not the key's own: draining, a
 * disk that takes nothing, the gates in the order of S6, and last a worker. Sentences name commands that help. They
 * claim nothing that was only true when the cause began: what stopped a key may be gone by now.
 */

import type { ItemRef } from '../../contract/model.js';
import { pastedCommand } from '../../contract/pasted-command.js';
import { isOpen, itemById } from '../../items/item-status.js';
import { type ClosedGate, closedGate } from '../../lane/gates.js';
import { endOf } from '../../lane/lease.js';
import { delayOf } from '../../lane/resolve.js';
import { takesOverAt } from '../../lane/take-over.js';
import { awaitedBy } from '../../state/dependencies.js';
import type { Delay, Park } from '../../state/phases.js';
import { Item, Lane, type Queue, Session, type Turn } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { after, isOver, wholeMs } from '../../structures/due.js';
import { isLinked, type Link } from '../../structures/link.js';

interface Why {
  /** Empty: nothing holds the key. */
  readonly why: string;
  /** Of the core's clock, whole ms. Unset: nobody knows, or no time ends it. */
  readonly until: number | undefined;
}

/** A parcel that was refused is sent again after a few seconds at most, ms; else it is not on its way here any more. */
const COMES_AGAIN = 60_000;

/** What is on its way to this queue, and finds no room here: empty if nothing is known of that. */
export function heldUpOutside(
  state: CoreState,
  queue: string,
  of: { key: string } | { itemId: string },
  now: number,
): string {
  for (const [source, { items, why, at }] of state.outgoing.heldUp) {
    if (isOver(after(at, COMES_AGAIN), now)) continue;
    const isIt = items.some(
      (one) => one.queue === queue && ('key' in of ? one.key === of.key : one.itemId === of.itemId),
    );
    if (isIt) return `a follow-up on its way from partition ${source} is not taken now: ${why}`;
  }
  return '';
}

/** The lane should be up to date (S1): otherwise what the answer tells may be over already. */
export function whyOf(state: CoreState, lane: Lane, now: number): Why {
  const { phase } = lane;
  switch (phase.at) {
    case 'INIT':
      return { why: '', until: undefined };
    case 'HELD':
      return held(state, lane, phase, now);
    case 'PARK':
      return { why: parked(lane, phase, now), until: undefined };
    case 'DELAY':
      return delayed(lane, phase.because, now);
    case 'READY':
      return ready(state, lane, now);
  }
}

/**
 * The turn ends by time, or the caller at the head takes it over before that (S16). A tied turn that no time ends has
 * no `until`.
 */
function held(state: CoreState, lane: Lane, turn: Turn, now: number): Why {
  const why = heldBy(turn);
  const end = endOf(turn);
  const takeOver = takesOverAt(state, lane, now);
  if (takeOver !== undefined && takeOver < end) {
    return { why: `${why}; then the caller at the head takes it over (on_wait_timeout: take_over)`, until: takeOver };
  }
  return { why, until: end === Number.POSITIVE_INFINITY ? undefined : end };
}

/**
 * Who holds the turn, and what keeps it alive: its session or its own renewals, which count from the start of
 * the process.
 */
function heldBy({ handed, owner, renewals, assignment, consumerId, fromBefore }: Turn): string {
  if (handed === 'kept') return 'the turn is held for an absent caller until its ticket ends';
  const who = assignment.kind === 'adopted' ? 'a worker that had it before the sidecar started' : consumerId;
  if (owner instanceof Session) return `${who} holds it and ${keptBy(owner)}`;
  const since = fromBefore ? ' since the sidecar started' : '';
  if (renewals === 0) return `${who} holds it and has not renewed its lease${since}`;
  return `${who} holds it and has renewed its lease ${renewals === 1 ? 'once' : `${renewals} times`}${since}`;
}

function keptBy({ id, stream }: Session): string {
  return stream === undefined ? `its session "${id}" is broken` : `its session "${id}" renews it`;
}

/**
 * Why the key was parked, and what lets it go on. What stopped it may be gone by now, and room that was missing may be
 * there: each of these has a sentence of its own. A park never ends by time.
 */
function parked({ queue, key }: Lane, { because, itemId }: Park, now: number): string {
  const resume = pastedCommand(['resume'], [queue.name, key]);
  if (because === 'dead_letter') {
    const gone = queue.deadLetters.has(itemId) ? '' : ', and is none any more';
    return `parked: item ${itemId} became a dead letter${gone}; "${resume}" lets the key go on`;
  }
  const most = queue.policy.maxDeadLetters;
  const known = itemById(queue, itemId, now);
  if (!(known instanceof Item && isOpen(known))) {
    const ended = known === undefined || known instanceof Item ? 'gone' : known.state;
    return `parked: there was no room for item ${itemId} among the dead letters, and it is ${ended} since; "${resume}" lets the key go on`;
  }
  if (queue.deadLetters.size < most) {
    return `parked: there was no room for item ${itemId} among the dead letters; there is now: "${resume}" lets the key go on`;
  }
  const room = `"${pastedCommand(['dead-letters', 'discard', '--queue', queue.name])}" or "redrive" makes room`;
  return `parked: item ${itemId} is to become a dead letter, and as many are kept as max_dead_letters allows (${most}); ${room}, then "${resume}" lets the key go on`;
}

/** A delay: of two causes the one that ends later. A wait for other items has no known end. */
function delayed(lane: Lane, because: Delay['because'], now: number): Why {
  const head = lane.line?.head;
  const { until } = delayOf(lane, head, now) ?? { until: lane.due };
  if (because !== 'dependency' || !(head instanceof Item)) return { why: DELAYED[because], until };
  return { why: `${DELAYED[because]}: ${awaitedNames(head)}`, until };
}

/** How an item that another one waits for stands in a text. */
export function awaitedName({ itemId, queue }: ItemRef): string {
  return `${itemId} of queue ${queue}`;
}

/** The items that one waits for, the first ten by name. None may be left, though the lane is in that delay still. */
function awaitedNames(item: Item): string {
  const after = awaitedBy(item);
  if (after === undefined) return 'they ended, and it will be looked at soon';
  const names = after.first.map(awaitedName);
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

/** The key could start: what keeps it is the coordinator, the disk, a gate of the queue, or that no worker asks. */
function ready(state: CoreState, lane: Lane, now: number): Why {
  const { queue, phase } = lane;
  if (state.draining) return { why: 'the sidecar is draining and gives no new turns', until: undefined };
  if (state.diskTrouble !== undefined && queue.changes !== undefined) {
    return { why: `the disk takes no changes of durable queues now: ${state.diskTrouble}`, until: undefined };
  }
  const waitsForGate = phase.at === 'READY' && phase.waitsFor === 'gate';
  const gate = closedGate(state, queue, now);
  if (gate !== undefined) return behind(queue, lane, gate, now);
  if (waitsForGate || queue.waiters.size > 0)
    return { why: 'others are before it, and it will be looked at soon', until: undefined };
  return { why: 'no worker has acquired it yet', until: undefined };
}

/**
 * Behind a closed gate. Only for `rate` the moment of the key's own turn is worked out: when the gate opens, the keys
 * before it start first (S7). For the others `until` is when the gate opens, if that is known.
 */
function behind(queue: Queue, lane: Lane, gate: ClosedGate, now: number): Why {
  const why = gateText(queue, gate);
  if (gate.why !== 'rate' || queue.rate === undefined) return { why, until: gate.until };
  // It is passed over when the gate opens, and a caller behind it may close it again.
  if (queue.waiters.size === 0 && lane.line?.head instanceof Item) {
    return { why: `${why}, and no worker asks for it`, until: undefined };
  }
  const before = readyBefore(queue, lane);
  if (before === undefined) return { why: `${why}, and more than ${COUNTED} keys are before it`, until: undefined };
  const others = before === 0 ? '' : `, and ${before === 1 ? 'another key is' : `${before} other keys are`} before it`;
  return { why: why + others, until: wholeMs(queue.rate.startOf(before + 1, now)) };
}

function gateText({ name, policy }: Queue, gate: ClosedGate): string {
  if (gate.why === 'paused') return `${GATES.paused}; "${pastedCommand(['resume'], [name])}" lets it go on`;
  const isShared = policy.spread > 1 && (gate.why === 'max_in_flight' || gate.why === 'rate');
  // Other parts may have room: who reads the number of the settings would wonder.
  return isShared
    ? `${GATES[gate.why]} in the part of this key, one of ${policy.spread} that share it`
    : GATES[gate.why];
}

/**
 * Lanes before one that are counted, in each list. The count is for an answer to a person: it must not stall others.
 */
const COUNTED = 1_000;

/**
 * How many keys have a turn before this one when the gate opens, by the order in which they became ready. Unset: too
 * many.
 */
function readyBefore(queue: Queue, lane: Lane): number | undefined {
  const mine = orderOf(lane);
  const callers = countBefore(queue.gatedLanes, mine);
  // Without a worker nobody takes an item: it is passed over (S7).
  const items = queue.waiters.size > 0 ? countBefore(queue.readyLanes, mine) : 0;
  return callers + items > COUNTED ? undefined : callers + items;
}

/** Lanes of a ready list that became ready before `mine`; the list is in that order. Stops one behind `COUNTED`. */
function countBefore(lanes: Link, mine: number): number {
  let count = 0;
  if (!isLinked(lanes)) return 0;
  for (let link = lanes.next; link !== lanes && link instanceof Lane && count <= COUNTED; link = link.next) {
    if (orderOf(link) >= mine) return count;
    count += 1;
  }
  return count;
}

function orderOf({ phase }: Lane): number {
  return phase.at === 'READY' ? phase.order : Number.POSITIVE_INFINITY;
}
