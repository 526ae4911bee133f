/** The trailers of a stream: what gRPC says at its end. */
import { Buffer } from 'node:buffer';

export interface EndStatus {
  readonly code: number;
  readonly details: string;
  /** An encoded google.rpc.Status. */
  readonly bytes: Uint8Array | undefined;
}

export function encodeStatus({ code, details, bytes }: EndStatus): Buffer {
  const size = bytes?.length ?? 0;
  const head = Buffer.alloc(5);
  head.writeUInt8(code, 0);
  head.writeUInt32BE(size, 1);
  return Buffer.concat([head, bytes ?? new Uint8Array(), Buffer.from(details)]);
}

export function decodeStatus(payload: Buffer): EndStatus {
  const size = payload.readUInt32BE(1);
  const bytes = size === 0 ? undefined : payload.subarray(5, 5 + size);
  return { code: payload.readUInt8(0), details: payload.subarray(5 + size).toString(), bytes };
}
