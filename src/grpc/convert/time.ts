/** Durations, instants and tokens as the wire has them, and as the port does: milliseconds and plain numbers. */
import type { Duration } from '../gen/google/protobuf/duration.js';
import type { Timestamp } from '../gen/google/protobuf/timestamp.js';

/** The largest duration that google.protobuf.Duration allows, about 10,000 years. */
export const LONGEST_DURATION_MS = 315_576_000_000_000;
const NANOS_PER_MS = 1_000_000;
const LAST_NANO = 999_999_999;

/** Below zero becomes zero: no answer carries a negative duration, and one with mixed signs would be malformed. */
export function toDuration(ms: number): Duration {
  return split(Math.min(Math.max(ms, 0), LONGEST_DURATION_MS));
}

export function toOptionalDuration(ms: number | undefined): Duration | undefined {
  return ms === undefined ? undefined : toDuration(ms);
}

export function toTimestamp(epochMs: number): Timestamp {
  return split(epochMs);
}

export function toOptionalTimestamp(epochMs: number | undefined): Timestamp | undefined {
  return epochMs === undefined ? undefined : toTimestamp(epochMs);
}

/** A token that no turn has ever had: what is not a token of ours is simply not live. */
const NOT_LIVE = 0;
const LARGEST_TOKEN = BigInt(Number.MAX_SAFE_INTEGER);

/** A number is a token that was read as one. */
export function fromWireToken(token: bigint | number): number {
  if (typeof token === 'number') return token;
  return token <= LARGEST_TOKEN ? Number(token) : NOT_LIVE;
}

function split(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(ms / 1_000);
  const nanos = Math.round((ms - seconds * 1_000) * NANOS_PER_MS);
  return { seconds: BigInt(seconds), nanos: Math.min(nanos, LAST_NANO) };
}
