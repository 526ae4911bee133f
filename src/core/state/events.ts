/** What those who watch are told. */
import type { CoordinatorEvent } from '../contract/views.js';
import { Caller, type Entry, type Lane } from './records.js';
import type { CoreState } from './state.js';

type EventFields = Partial<Pick<CoordinatorEvent, 'token' | 'itemId' | 'consumerId' | 'detail'>>;

/** Tells those who watch. Callers check `state.watching` first: otherwise nothing may be paid for it. */
export function tell(
  state: CoreState,
  kind: CoordinatorEvent['kind'],
  lane: Lane,
  now: number,
  fields: EventFields,
): void {
  const { token, itemId, consumerId, detail } = fields;
  const at = now + state.wallOffset;
  const event = { kind, at, queue: lane.queue.name, key: lane.key, token, itemId, consumerId, detail };
  state.effects.push({ kind: 'event', event }, lane.queue.tellsLate);
}

/** Why an entry left its line without a turn. */
export type Leaving =
  | 'wait_ended'
  | 'cancelled'
  | 'given_up'
  | 'ticket_ended'
  | 'superseded'
  | 'already_done'
  | 'refused'
  | 'draining';

/** As {@link tell}. */
export function emitLeaving(state: CoreState, entry: Entry, why: Leaving, now: number): void {
  const who = entry instanceof Caller ? { consumerId: entry.consumerId } : { itemId: entry.id };
  tell(state, 'leaving', entry.lane, now, { ...who, detail: why });
}
