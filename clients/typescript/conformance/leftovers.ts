/** What keeps this process busy beyond what kept it busy before the first client. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fields } from './fields.js';

/** A socket that was closed is gone a moment later. */
const PATIENCE_MS = 2_000;
const BETWEEN_MS = 20;

const before = counted();

function counted(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Writing and reading of the lines themselves, and this very look. */
const OF_THE_PLAYER: ReadonlySet<string> = new Set(['PipeWrap', 'TTYWrap', 'FSReqCallback', 'WriteWrap', 'Immediate']);

function left(): readonly string[] {
  return [...counted()].flatMap(([kind, count]) => {
    const more = OF_THE_PLAYER.has(kind) ? 0 : count - (before.get(kind) ?? 0);
    return more > 0 ? [`${kind}: ${more}`] : [];
  });
}

export async function leftovers(): Promise<Fields> {
  const until = performance.now() + PATIENCE_MS;
  let what = left();
  while (what.length > 0 && performance.now() < until) {
    await sleep(BETWEEN_MS);
    what = left();
  }
  return { count: what.length, what };
}
