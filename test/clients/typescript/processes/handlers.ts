/** What must be true of handlers, seen from outside: who was at what, until it ended, was told to stop, or died. */
import type { Event } from './plan.js';

type Begin = Extract<Event, { what: 'begin' }>;

/**
 * Two handlers are on one key at once when the earlier one has neither ended nor been told when the later one begins.
 * Events come from several processes, so they are put in the order of the machine's clock first.
 */
export function overlaps(events: readonly Event[]): readonly string[] {
  const problems: string[] = [];
  const active = new Map<string, Map<number, Begin>>();
  const largest = new Map<string, number>();
  for (const event of [...events].sort((a, b) => a.at - b.at)) {
    if (event.what === 'killed') forget(active, event.worker);
    else if (event.what === 'end' || event.what === 'told') active.get(event.key)?.delete(event.token);
    else if (event.what === 'begin') {
      const others = active.get(event.key) ?? new Map<number, Begin>();
      for (const other of others.values()) if (other.token !== event.token) problems.push(told(event, other));
      if (event.token < (largest.get(event.key) ?? 0)) problems.push(`a smaller token: ${JSON.stringify(event)}`);
      largest.set(event.key, event.token);
      active.set(event.key, others.set(event.token, event));
    }
  }
  return problems;
}

function forget(active: ReadonlyMap<string, Map<number, Begin>>, worker: string): void {
  for (const handlers of active.values())
    for (const [token, begin] of handlers) if (begin.worker === worker) handlers.delete(token);
}

function told(event: Begin, other: Begin): string {
  return `${event.worker} begins with ${event.key} (${event.token}) while ${other.worker} is at it (${other.token}), not told`;
}

/** Outcomes by what they say, with how many there were. */
export function outcomes(events: readonly Event[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.what !== 'outcome') continue;
    counts.set(event.outcome, (counts.get(event.outcome) ?? 0) + 1);
  }
  return counts;
}
