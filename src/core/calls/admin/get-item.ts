/** GetItem: what is known of one item, wherever it is (S441). Nothing here changes a lane. */

import type { Bytes } from '../../contract/model.js';
import type { ItemReport } from '../../contract/views.js';
import { itemById, stateOfItem } from '../../items/item-status.js';
import { itemView } from '../../lane/answers.js';
import { awaitedBy } from '../../state/dependencies.js';
import { turnOf } from '../../state/lane.js';
import { Item, type Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { namedBy, wall } from './explain.js';
import { heldUpOutside, whyOf } from './why.js';

const UNKNOWN: ItemReport = Object.freeze({
  state: 'unknown',
  key: undefined,
  item: undefined,
  attempts: 0,
  lastError: undefined,
  notBefore: undefined,
  after: undefined,
  holder: undefined,
  died: undefined,
  result: undefined,
  why: '',
  payloadBytes: 0,
});

/** Precondition: the lane of the item is up to date (S1), if it waits or is in flight. */
export function getItem(state: CoreState, name: string, queue: Queue | undefined, id: string, now: number): ItemReport {
  const known = queue && itemById(queue, id, now);
  if (queue === undefined || known === undefined)
    return { ...UNKNOWN, why: heldUpOutside(state, name, { itemId: id }, now) };
  if (!(known instanceof Item)) {
    const { state: end, attempt, error, result } = known;
    return { ...UNKNOWN, state: end, attempts: attempt, lastError: error, result };
  }
  const { lane, attempts, lastError, notBefore } = known;
  const letter = queue.deadLetters.get(id);
  const itemState = stateOfItem(known);
  const isWaiting = itemState === 'waiting';
  const item = itemView(state, known);
  return {
    ...UNKNOWN,
    state: itemState,
    key: letter?.key ?? lane.key,
    item,
    stored: item.stored,
    attempts,
    lastError,
    notBefore: isWaiting && notBefore > now ? wall(state, notBefore) : undefined,
    after: isWaiting ? awaitedBy(known) : undefined,
    holder: itemState === 'in_flight' ? holderOf(known) : undefined,
    died: letter && { at: letter.diedAt + state.wallOffset, cause: letter.cause },
    ...(isWaiting ? reasonOf(state, known, now) : {}),
  };
}

function holderOf({ lane }: Item): ItemReport['holder'] {
  const turn = turnOf(lane);
  return turn && { consumerId: turn.consumerId, token: turn.token };
}

/** What keeps its key keeps it; behind others it is the others that keep it. */
function reasonOf(state: CoreState, item: Item, now: number): Pick<ItemReport, 'why' | 'named'> {
  const { lane } = item;
  const { why } = whyOf(state, lane, now);
  if (lane.line?.head === item) return { why, named: namedBy(lane) };
  const rest = why === '' ? '' : `; its key: ${why}`;
  return { why: `others of its key come before it${rest}`, named: namedBy(lane) };
}

/** With what it carries, once that was read; without what was not asked for. */
export function reportOf(report: ItemReport, withPayload: boolean): ItemReport {
  const { item, result } = report;
  const { stored: _stored, ...rest } = report;
  if (item === undefined) return { ...rest, result: withPayload ? result : undefined };
  const told = { ...rest, traceparent: item.headers?.get('traceparent'), payloadBytes: item.payload.length };
  if (withPayload) return told;
  return { ...told, item: { ...item, payload: NOTHING, headers: undefined }, result: undefined };
}

const NOTHING: Bytes = new Uint8Array(0);
