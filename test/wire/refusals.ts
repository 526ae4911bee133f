/** A google.rpc.Status as the refusal that it was made of. */
import assert from 'node:assert/strict';
import type { LossCause, Refusal } from '../../src/coordinator.js';
import { Status } from '../../src/grpc/gen/google/rpc/status.js';
import { type Failure, failureIn } from '../grpc/errors.js';
import type { Named } from './answers.js';

type Reader = (failure: Failure, named: Named) => Refusal;

function full(kind: 'queue_full' | 'limit' | 'memory_full'): Reader {
  return ({ quota, metadata, retryAfter }) => {
    const [{ subject, description } = assert.fail('a quota is told')] = quota;
    return { kind, subject, limit: Number(metadata['limit']), description, retryAfter: retryAfter ?? assert.fail() };
  };
}

const READERS: Readonly<Record<string, Reader>> = {
  BAD_REQUEST: ({ fields }) => ({
    kind: 'bad_request',
    violations: fields.map(({ field, description }) => ({ field, description })),
  }),
  // The names are shortened in the message; who asked knows them.
  TURN_LOST: ({ metadata }, { queue, key }) => ({ kind: 'turn_lost', queue, key, cause: causeOf(metadata['cause']) }),
  USE_ACK: (_, { queue, key }) => ({ kind: 'use_ack', queue, key }),
  AT_MOST_ONCE: (_, { queue, key }) => ({ kind: 'at_most_once', queue, key }),
  QUEUE_FULL: full('queue_full'),
  LIMIT: full('limit'),
  MEMORY_FULL: full('memory_full'),
  NO_SUCH_QUEUE: ({ resource }) => ({ kind: 'no_such_queue', queue: resource ?? '' }),
  DRAINING: ({ retryAfter }) => ({ kind: 'draining', retryAfter: retryAfter ?? assert.fail() }),
  CANCELLED: () => ({ kind: 'cancelled' }),
};

export function refusalOf(status: Status, named: Named): Refusal {
  const failure = failureIn(Status.decode(Status.encode(status).finish()));
  const read = READERS[failure.reason];
  assert.ok(read !== undefined, `${failure.code} ${failure.reason}: ${failure.message}`);
  return read(failure, named);
}

function causeOf(cause: string | undefined): LossCause {
  const causes: Readonly<Record<string, LossCause>> = {
    LEASE_EXPIRED: 'lease_expired',
    EVICTED: 'evicted',
    TAKEN_OVER: 'taken_over',
    SETTLED: 'settled',
    UNKNOWN: 'unknown',
  };
  return causes[cause ?? ''] ?? assert.fail(`no cause: ${cause}`);
}
