/** Streams of workers, and the sessions that outlive them. */
import { COSTS } from './held.js';
import type { Session } from './records.js';
import type { CoreState } from './state.js';

/** A broken session without turns is nothing that somebody could come back to. */
export function forgetIfEmpty(state: CoreState, session: Session): void {
  if (session.stream !== undefined || session.size > 0) return;
  state.wheel.cancel(session);
  forgetId(state, session);
}

/** A hello finds it by its id from now on. */
export function keepSession(state: CoreState, session: Session): void {
  state.sessions.set(session.id, session);
  state.chargedBytes += COSTS.session + session.id.length;
}

/** Who says its id from now on begins a new session. Nothing is done where a newer session has the id already. */
export function forgetId(state: CoreState, session: Session): void {
  if (state.sessions.get(session.id) !== session) return;
  state.sessions.delete(session.id);
  state.chargedBytes -= COSTS.session + session.id.length;
  if (session.durable > 0) state.changes?.session(session.id);
}
