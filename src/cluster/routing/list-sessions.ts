/** Sessions of all partitions: one that holds turns of several is known to several homes, and is told once. */
import type { Result, SessionPage, SessionReport } from '../../coordinator.js';
import type { AskedParts } from './asked-parts.js';
import { gather, partial } from './asking.js';

/** As many turns as a core tells of one. */
const MOST_HELD = 20;

export async function listSessions(parts: AskedParts<'listSessions'>): Promise<Result<SessionPage>> {
  const { request } = parts;
  const gathered = gather(await parts.askAll());
  if (!gathered.ok) return gathered;
  const { values, unavailable } = gathered.value;
  const byId = new Map<string, SessionReport>();
  for (const one of values.flatMap(({ sessions }) => sessions)) {
    const known = byId.get(one.id);
    byId.set(one.id, known === undefined ? one : merged(known, one));
  }
  const sessions = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const more = sessions.length > request.most || values.some((page) => page.more);
  // What stands behind the end of a page that has more may miss what other homes know of it.
  return { ok: true, value: { sessions: sessions.slice(0, request.most), more, ...partial(unavailable) } };
}

/** Where one home has its stream it is open. */
function merged(one: SessionReport, other: SessionReport): SessionReport {
  const isOpen = one.brokenSince === undefined || other.brokenSince === undefined;
  return {
    id: one.id,
    brokenSince: isOpen ? undefined : Math.max(one.brokenSince, other.brokenSince),
    endsAt: isOpen ? undefined : Math.max(one.endsAt ?? 0, other.endsAt ?? 0),
    turns: one.turns + other.turns,
    held: [...one.held, ...other.held].slice(0, MOST_HELD),
  };
}
