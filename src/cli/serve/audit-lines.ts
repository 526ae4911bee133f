/** The audit: one line of JSON for each change, each look at payloads, and callers that were not let in. */

import type { Audited } from '../../grpc/call/audit.js';
import type { Refused } from '../../grpc/call/door.js';
import { harmlessJson } from '../../observability/harmless.js';

interface Clock {
  /** Monotonic, ms. */
  now(): number;
  /** ms since the Unix epoch */
  wall(): number;
}

/** Whoever is refused may ask again and again: one line a second says how many there were. */
const REFUSED_EVERY_MS = 1_000;
/** What changed nothing, though its caller was let in; of these each principal may make so many lines a second. */
const CHANGED_NOTHING: ReadonlySet<string> = new Set([
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'INVALID_ARGUMENT',
  'NOT_FOUND',
]);
const DENIED_A_SECOND = 10;
/** Principals that are counted by themselves; all beyond share one count, whatever names they show. */
const MOST_COUNTED = 1_000;
const ALL_OTHERS = '\u0000';

interface AuditLines {
  readonly audited: Audited;
  /** Names no token and nothing else that was shown. */
  readonly refused: Refused;
}

export function auditLines(write: (line: string) => void, clock: Clock): AuditLines {
  const say = (what: object) => write(`${harmlessJson({ time: new Date(clock.wall()).toISOString(), ...what })}\n`);
  const denied = new Denied(clock);
  let lastAt = Number.NEGATIVE_INFINITY;
  let left = 0;
  return {
    audited: ({ who = '', ...entry }) => {
      if (!CHANGED_NOTHING.has(entry.outcome)) return say({ audit: 'call', who, ...entry });
      const notShown = denied.count(who);
      if (notShown !== undefined) say({ audit: 'call', who, ...entry, ...(notShown > 0 ? { notShown } : {}) });
    },
    refused: (_shown, from, path, why) => {
      const now = clock.now();
      if (now - lastAt < REFUSED_EVERY_MS) {
        left += 1;
        return;
      }
      say({ audit: 'refused', from, call: path, outcome: 'UNAUTHENTICATED', told: why, notShown: left });
      lastAt = now;
      left = 0;
    },
  };
}

interface Count {
  since: number;
  shown: number;
  notShown: number;
}

/** Who may not do what it asks, and asks again and again, must neither fill the disk nor hide what others ask. */
class Denied {
  readonly #counts = new Map<string, Count>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly clock: Clock) {}

  /** @returns how many were not shown since the last that was; unset: this one is not shown either */
  count(who: string): number | undefined {
    const now = this.clock.now();
    const count = this.#of(who, now);
    if (now - count.since >= REFUSED_EVERY_MS) {
      count.since = now;
      count.shown = 0;
    }
    if (count.shown >= DENIED_A_SECOND) {
      count.notShown += 1;
      return undefined;
    }
    count.shown += 1;
    const { notShown } = count;
    count.notShown = 0;
    return notShown;
  }

  #of(who: string, now: number): Count {
    const known = this.#counts.get(who);
    if (known !== undefined) return known;
    if (this.#counts.size >= MOST_COUNTED) this.#forget(now);
    const name = this.#counts.size >= MOST_COUNTED ? ALL_OTHERS : who;
    const count = this.#counts.get(name) ?? { since: now, shown: 0, notShown: 0 };
    this.#counts.set(name, count);
    return count;
  }

  /** Those that were denied nothing for a second, and of whom everything is told. */
  #forget(now: number): void {
    if (now - this.#lookedAt < REFUSED_EVERY_MS) return;
    this.#lookedAt = now;
    for (const [who, { since, notShown }] of this.#counts)
      if (notShown === 0 && now - since >= REFUSED_EVERY_MS) this.#counts.delete(who);
  }
}
