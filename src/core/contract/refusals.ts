import type { LossCause, Refusal, Result } from './model.js';

/** When it is worth trying again, ms, where nothing better is known. */
export const RETRY_SOON = 1_000;

/** What there may be no more of, in words, by the name of its limit. */
const LIMITED = {
  queues: 'queues',
  sessions: 'sessions',
  busy_lanes: 'keys with something to do',
  dependencies: 'dependencies of items (after)',
  waiting_acquires: 'Acquire calls that wait',
  waiting_awaits: 'Await calls that wait',
  waiting_callers: 'callers that wait',
  waiting_submits: 'Submit calls that wait for room',
} as const;

export function limitRefusal(subject: keyof typeof LIMITED, limit: number): Refusal {
  return {
    kind: 'limit',
    subject,
    limit,
    description: `no more than ${limit} ${LIMITED[subject]} (limits.${subject})`,
    retryAfter: RETRY_SOON,
  };
}

/** Parcels of one partition that are not known to be where they belong. */
export const MOST_PARCELS = 10_000;

/** The other partitions do not take them as fast as Acks bring them, or not at all now. */
export function tooManyParcels(): Refusal {
  return {
    kind: 'limit',
    subject: 'follow_ups_on_their_way',
    limit: MOST_PARCELS,
    description: `the follow-ups of ${MOST_PARCELS} Acks are on their way to other groups already, as many as a partition keeps; their queues are full, or have no home that takes them`,
    retryAfter: RETRY_SOON,
  };
}

/** What items of a partition wait for in other groups, at most: each is asked for again and again. */
export const MOST_FAR = 10_000;

export function tooManyFar(): Refusal {
  return {
    kind: 'limit',
    subject: 'after_other_groups',
    limit: MOST_FAR,
    description: `items of this partition wait for ${MOST_FAR} items of other groups already, or would: as many as it asks for`,
    retryAfter: RETRY_SOON,
  };
}

/** @param kept places that are free and kept for others; less than 1: none */
export function queueFull(queue: string, limit: number, kept = 0): Refusal {
  const others = kept < 1 ? '' : `, with ${kept} that are kept for follow-ups from other groups, which wait for room`;
  const description = `queue ${queue} holds as many waiting entries as max_waiting allows: ${limit}${others}`;
  return { kind: 'queue_full', subject: queue, limit, description, retryAfter: RETRY_SOON };
}

/** What of the memory may not be more, by the name of its limit. */
const MEMORY = { payload_memory_bytes: 'payloads use', memory_bytes: 'everything that is held uses' } as const;

export function memoryFull(limit: number, subject: keyof typeof MEMORY = 'payload_memory_bytes'): Refusal {
  const description = `${MEMORY[subject]} the ${limit} bytes that limits.${subject} allows`;
  return { kind: 'memory_full', subject, limit, description, retryAfter: RETRY_SOON };
}

/** Of the memory that Submits may use which wait for room. */
export function roomMemoryFull(limit: number, calls: number): Refusal {
  const description = `the ${calls} calls that wait for room may hold ${limit} bytes together, a quarter of limits.payload_memory_bytes`;
  return { kind: 'memory_full', subject: 'payload_memory_bytes', limit, description, retryAfter: RETRY_SOON };
}

/** `auth.per_client.turns` (S657). */
export function clientTurns(principal: string, limit: number): Refusal {
  const description = `${principal} may hold ${limit} turns at once (auth.per_client.turns), and holds as many; end one of these turns, then try again`;
  return { kind: 'limit', subject: 'auth.per_client.turns', limit, description, retryAfter: RETRY_SOON };
}

/** `auth.per_client.memory_bytes` (S660). */
export function clientMemoryFull(principal: string, limit: number): Refusal {
  const description = `${principal} may hold ${limit} bytes (auth.per_client.memory_bytes), and would hold more; finish or discard items of ${principal}, then try again`;
  return { kind: 'memory_full', subject: 'auth.per_client.memory_bytes', limit, description, retryAfter: RETRY_SOON };
}

/** A follow-up that cannot be an item needs a place among the dead letters. */
export function lettersFull(queue: string, limit: number): Refusal {
  const description = `queue ${queue} has as many dead letters as max_dead_letters allows: ${limit}`;
  return { kind: 'queue_full', subject: queue, limit, description, retryAfter: RETRY_SOON };
}

export function turnLost(queue: string, key: string, cause: LossCause): Refusal {
  return { kind: 'turn_lost', queue, key, cause };
}

export function badRequest(field: string, description: string): Refusal {
  return { kind: 'bad_request', violations: [{ field, description }] };
}

export function badPageToken(token: string): Result<never> {
  const description = `"${token.slice(0, 64)}" is not the next_page_token of an earlier answer`;
  return { ok: false, refusal: badRequest('page_token', description) };
}

/** Nobody may get a turn, of whatever queue: a token beyond those that the disk knows of could be given again. */
export const TOKENS_USED_UP: Refusal = Object.freeze({
  kind: 'store_unavailable',
  description:
    'all tokens that are reserved on the disk are used up, until it has taken more; if that lasts, look at the log',
  retryAfter: RETRY_SOON,
});

export const DRAINING: Refusal = Object.freeze({ kind: 'draining', retryAfter: RETRY_SOON });
export const CANCELLED: Refusal = Object.freeze({ kind: 'cancelled' });
