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

interface AuditLines {
  readonly audited: Audited;
  /** Names no token and nothing else that was shown. */
  readonly refused: Refused;
}

export function auditLines(write: (line: string) => void, clock: Clock): AuditLines {
  const say = (what: object) => write(`${harmlessJson({ time: new Date(clock.wall()).toISOString(), ...what })}\n`);
  let lastAt = Number.NEGATIVE_INFINITY;
  let left = 0;
  return {
    audited: ({ who = '', ...entry }) => say({ audit: 'call', who, ...entry }),
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
