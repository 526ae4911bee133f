/** Requests of etcd, in fewer words. */
import { Buffer } from 'node:buffer';
import {
  type Compare,
  Compare_CompareResult as Is,
  type RangeRequest,
  type RequestOp,
  Compare_CompareTarget as Target,
  type TxnRequest,
} from '../../grpc/gen/etcdserverpb/rpc.js';

/** All keys that begin so, in their order. @param limit 0: all */
export function range(prefix: string, limit: number): RangeRequest {
  const key = Buffer.from(prefix);
  const end = Buffer.from(key);
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return { key, rangeEnd: end, limit: BigInt(limit) };
}

/**
 * Reads this key as a majority has it. A transaction that compares and does nothing is answered by the server that was asked from what
 * it has itself, however old that is, and without a majority; with this beside it, it is not (S495).
 */
export function asMajorityHas(key: string): RequestOp {
  return {
    request: { $case: 'requestRange', value: { key: Buffer.from(key), rangeEnd: Buffer.alloc(0), limit: 1n } },
  };
}

export function put(key: string, value: string, lease = 0n): RequestOp {
  return { request: { $case: 'requestPut', value: { key: Buffer.from(key), value: Buffer.from(value), lease } } };
}

export function remove(key: string): RequestOp {
  return { request: { $case: 'requestDeleteRange', value: { key: Buffer.from(key), rangeEnd: Buffer.alloc(0) } } };
}

export function within(value: TxnRequest): RequestOp {
  return { request: { $case: 'requestTxn', value } };
}

export function hasLease(key: string, lease: bigint): Compare {
  return {
    key: Buffer.from(key),
    result: Is.EQUAL,
    target: Target.LEASE,
    targetUnion: { $case: 'lease', value: lease },
  };
}

export function isMissing(key: string): Compare {
  return {
    key: Buffer.from(key),
    result: Is.EQUAL,
    target: Target.CREATE,
    targetUnion: { $case: 'createRevision', value: 0n },
  };
}

/** By bytes; false, if there is no such key. */
export function isBelow(key: string, value: string): Compare {
  return {
    key: Buffer.from(key),
    result: Is.LESS,
    target: Target.VALUE,
    targetUnion: { $case: 'value', value: Buffer.from(value) },
  };
}
