/** Durations, instants and tokens as the wire has them, and as this client does: milliseconds and plain numbers. */
import type { Duration } from '../gen/google/protobuf/duration.js';
import type { Timestamp } from '../gen/google/protobuf/timestamp.js';

/** The largest duration that google.protobuf.Duration allows, about 10,000 years. */
const LONGEST_DURATION_MS = 315_576_000_000_000;
const NANOS_PER_MS = 1_000_000;
const LAST_NANO = 999_999_999;
const LARGEST_TOKEN = BigInt(Number.MAX_SAFE_INTEGER);
/** A token that no turn has ever had. */
const NOT_LIVE = 0;

/** Below zero becomes zero: a duration with mixed signs would be malformed. */
export function toDuration(ms: number): Duration {
  const within = Math.min(Math.max(ms, 0), LONGEST_DURATION_MS);
  const seconds = Math.floor(within / 1_000);
  const nanos = Math.round((within - seconds * 1_000) * NANOS_PER_MS);
  return { seconds: BigInt(seconds), nanos: Math.min(nanos, LAST_NANO) };
}

/** With fractions of a millisecond. */
export function fromDuration(duration: Duration): number {
  return join(duration);
}

export function optionalMs(duration: Duration | undefined): number | undefined {
  return duration && join(duration);
}

export function fromTimestamp(timestamp: Timestamp): number {
  return join(timestamp);
}

export function fromWireToken(token: bigint): number {
  return token <= LARGEST_TOKEN ? Number(token) : NOT_LIVE;
}

function join(parts: { readonly seconds: bigint; readonly nanos: number }): number {
  return Number(parts.seconds) * 1_000 + parts.nanos / NANOS_PER_MS;
}
