/** Sessions by their ids, in pages (S443). `limits.sessions` bounds those that are open, live turns bound the others. */

import type { ListSessionsRequest, SessionPage, SessionReport, SessionTurnView } from '../../contract/session-views.js';
import { turnOf } from '../../state/lane.js';
import { Lane, type Session } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { wall } from './explain.js';

/** Of a session; it may have a hundred thousand. */
const MOST_HELD = 20;

/** All ids are looked at, in one go. The views, which cost more, are made for the page only. */
export function listSessions(state: CoreState, request: ListSessionsRequest): SessionPage {
  const { idContains, prefix, after, most } = request;
  const ids: string[] = [];
  for (const id of state.sessions.keys())
    if (id > after && id.startsWith(prefix) && id.includes(idContains, prefix.length)) ids.push(id);
  ids.sort();
  const told = ids.slice(0, most).flatMap((id) => state.sessions.get(id) ?? []);
  return { sessions: told.map((session) => reportOf(state, session)), more: ids.length > most };
}

/** `endsAt` and `brokenAt` mean something only without a stream. */
function reportOf(state: CoreState, session: Session): SessionReport {
  const { id, stream, brokenAt, endsAt, size } = session;
  const isBroken = stream === undefined;
  return {
    id,
    brokenSince: isBroken ? wall(state, brokenAt) : undefined,
    endsAt: isBroken ? wall(state, endsAt) : undefined,
    turns: size,
    held: heldBy(state, session),
  };
}

function heldBy(state: CoreState, session: Session): readonly SessionTurnView[] {
  const held: SessionTurnView[] = [];
  for (let at = session.firstTied; at instanceof Lane && held.length < MOST_HELD; at = session.tiedAfter(at)) {
    const turn = turnOf(at);
    if (turn === undefined) continue;
    const { token, since, consumerId } = turn;
    held.push({ queue: at.queue.name, key: at.key, token, since: since + state.wallOffset, consumerId });
  }
  return held;
}
