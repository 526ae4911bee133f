/** A batch is flushed: what waited for that may go on. */
import { weightOfItem } from '../items/content.js';
import { isKept } from '../items/item-status.js';
import { markRoom } from '../state/marks.js';
import type { OutgoingParcel } from '../state/outgoing.js';
import type { CoreState } from '../state/state.js';
import { AWAY } from '../state/stored.js';
import { wholeMs } from '../structures/due.js';
import type { Changes } from './changes.js';
import type { Batch } from './collect.js';

/**
 * It is flushed: what these items carry need not be in memory any more, and is not charged any more (S57); where the
 * journal keeps no contents there are none. An item
 * that ended while the batch was being written is not charged any more, so nothing is given back for it. The bytes that
 * come free are room for Submits that wait (`limits.payload_memory_bytes`).
 */
export function written(state: CoreState, changes: Changes, batch: Batch): void {
  changes.written();
  for (const item of batch.items) {
    if (item.stored?.where !== 'written') continue;
    const before = weightOfItem(item);
    item.stored.where = 'away';
    item.payload = AWAY;
    item.headers = undefined;
    const less = before - weightOfItem(item);
    if (isKept(item)) state.payloadBytes -= less;
    else if (item.phase.at === 'handed_out') state.chargedBytes -= less;
    else continue;
    item.account?.change(-less);
  }
  if (batch.floor !== undefined) reserved(state, changes, batch.floor);
  if (batch.outgoing.length > 0) letGo(state, batch.outgoing);
  if (batch.items.length === 0) return;
  for (const queue of state.roomQueues) {
    markRoom(state, queue);
    // There may be room for them, and perhaps nothing else happens for long: they are looked at in the next tick.
    state.wheel.schedule(queue.gateTimer, wholeMs(changes.now));
  }
}

/** They can be sent: whoever sends them is told once for each partition. */
function letGo(state: CoreState, parcels: readonly OutgoingParcel[]): void {
  for (const parcel of parcels) parcel.isWritten = true;
  const targets = new Set(parcels.map(({ target }) => target));
  for (const target of targets) state.effects.push({ kind: 'parcels', target }, false);
}

/** All tokens up to the next time are smaller, and that is written down. */
export function reserved(state: CoreState, changes: Changes, floor: number): void {
  if (state.tokens.written(floor)) openTokensGate(state, changes.now);
}

/**
 * Turns may start again, in whatever queue they are waited for (S114), and terms in groups without one. The timers let each be
 * looked at in a tick.
 */
function openTokensGate({ queues, leaders, wheel }: CoreState, now: number): void {
  for (const queue of queues.values()) wheel.schedule(queue.gateTimer, wholeMs(now));
  for (const group of leaders.groups.values())
    if (group.term === undefined && group.candidates.size > 0) wheel.schedule(group, wholeMs(now));
}
