/**
 * The memory of everything that a core holds, from one table of what each kind costs (S600). What begins to be held is charged to
 * a running sum where it begins, and what ends is taken off where it ends, so the whole is known without a walk over anything.
 *
 * Not counted: effects of a step, marks of changes that are not written yet, and what the server of gRPC buffers.
 */
import type { SubmitResult } from '../contract/model.js';
import type { Candidate } from './leader-group.js';
import type { AwaitWaiter, DeadLetter, Turn, WaitingCall } from './records.js';
import type { Ending } from './settlement.js';

/** Bytes of one of each kind, as `test/core/held/measure.ts` measures them, rounded up; the length of its texts comes on top. */
export const COSTS = Object.freeze({
  /** A lane with its turn and its place in an index. */
  lane: 400,
  /** One of up to 8 of a lane. */
  settlement: 96,
  /** A dead letter, besides its item: it keeps the lane alive that it was of. */
  letter: 560,
  /** Of one follow-up, as its settlement keeps it. */
  followUpResult: 128,
  /** A ticket of a key, with the map in which it stands. */
  keyTicket: 288,
  /** A ticket of dispatch, with its map of lanes. */
  dispatchTicket: 240,
  /** A call that waits, with the one who asked. */
  caller: 400,
  acquire: 672,
  /** Of each queue that such a call names. */
  acquireQueue: 80,
  room: 448,
  await_item: 464,
  /** One entry of a map of texts: headers, metadata. */
  mapEntry: 72,
  /** An item or an idempotency key that is remembered, by a text and by a number. */
  rememberedText: 400,
  rememberedNumber: 176,
  /** A result or an error that is remembered, besides its bytes. */
  result: 400,
  session: 320,
  stream: 160,
  queue: 10_240,
  group: 720,
  candidate: 448,
  term: 160,
  backOff: 160,
  watcher: 208,
});

/** What a core counts of what it holds. */
interface Holding {
  readonly payloadBytes: number;
  readonly roomBytes: number;
  readonly chargedBytes: number;
  readonly results: Readonly<Record<'bytes' | 'nameBytes' | 'size' | 'named' | 'numbered', number>>;
  readonly spareSettlements: { readonly bytes: number };
  readonly dispatchTickets: { readonly bytes: number };
  readonly outgoing: { readonly laneBytes: number };
}

/** What the core holds, in bytes: charged against `limits.memory_bytes`. O(1), and asked in each step. */
export function heldBytes(state: Holding): number {
  const { results } = state;
  return (
    state.payloadBytes +
    state.roomBytes +
    state.chargedBytes +
    state.spareSettlements.bytes +
    state.dispatchTickets.bytes +
    state.outgoing.laneBytes +
    results.bytes +
    results.nameBytes +
    results.size * COSTS.result +
    results.named * COSTS.rememberedText +
    results.numbered * COSTS.rememberedNumber
  );
}

/** What a turn of a new key costs, and the settlement that it leaves. */
export const TURN_COST = COSTS.lane + COSTS.settlement;

/** Texts that a turn keeps for as long as its lane is known. */
export function textsOfTurn({ consumerId, assignment }: Turn): number {
  return consumerId.length + (assignment.kind === 'caller' ? (assignment.idempotencyKey?.length ?? 0) : 0);
}

/** What a principal is charged with for a live turn (S659). */
export function ownCostOfTurn(turn: Turn): number {
  return TURN_COST + turn.lane.key.length + textsOfTurn(turn);
}

/** What a principal is charged with for a call that waits. */
export function ownCostOfCall(call: Exclude<WaitingCall, AwaitWaiter>): number {
  const cost = costOfCall(call);
  if (call.kind === 'caller') return cost + call.lane.key.length;
  return call.kind === 'room' ? cost + call.bytes : cost;
}

/** What a dead letter keeps besides its item. */
export function costOfLetter({ key, destination }: Pick<DeadLetter, 'key' | 'destination'>): number {
  return (
    COSTS.letter + key.length + (destination === undefined ? 0 : destination.queue.length + destination.itemId.length)
  );
}

/** What a call that waits costs. The items of a Submit are charged as such. */
export function costOfCall(call: WaitingCall): number {
  return COSTS[call.kind] + textsOfCall(call);
}

function textsOfCall(call: WaitingCall): number {
  switch (call.kind) {
    case 'caller':
      return call.consumerId.length + (call.idempotencyKey?.length ?? 0);
    case 'acquire':
      return call.request.consumerId.length + (call.request.ticket?.length ?? 0) + queuesOf(call.request.queues);
    case 'room':
      return keysOf(call.request.items);
    case 'await_item':
      return 2 * call.itemId.length;
  }
}

function queuesOf(queues: readonly string[]): number {
  return queues.reduce((sum, { length }) => sum + COSTS.acquireQueue + length, 0);
}

/** Keys of items that are in no lane yet. */
export function keysOf(items: readonly { readonly key: string }[]): number {
  return items.reduce((sum, { key }) => sum + key.length, 0);
}

/** A settlement, with its ticket and the results of its follow-ups. */
export function costOfSettlement(ticket: string | undefined, ending: Ending): number {
  return COSTS.settlement + (ticket?.length ?? 0) + bytesOfFollowUps(ending);
}

export function bytesOfFollowUps(ending: Ending): number {
  if (ending.ended !== 'settled' || ending.call !== 'ack' || ending.followUps === undefined) return 0;
  return bytesOfResults(ending.followUps);
}

export function bytesOfResults(results: readonly SubmitResult[]): number {
  let bytes = 0;
  for (const result of results) {
    const other = result.decision === 'accept' ? result.supersededId : result.survivorId;
    bytes += COSTS.followUpResult + result.itemId.length + (other?.length ?? 0);
  }
  return bytes;
}

export function costOfCandidate({ id, metadata }: Pick<Candidate, 'id' | 'metadata'>): number {
  return COSTS.candidate + id.length + bytesOfTexts(metadata);
}

/** Of headers and metadata. */
export function bytesOfTexts(texts: ReadonlyMap<string, string>): number {
  let bytes = texts.size * COSTS.mapEntry;
  for (const [name, value] of texts) bytes += name.length + value.length;
  return bytes;
}
