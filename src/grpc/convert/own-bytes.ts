/** Bytes that stay when their message is gone. */
import { byteText, type Payload, SMALL_PAYLOAD } from '../../coordinator.js';

const NOTHING: Uint8Array = new Uint8Array(0);

/**
 * A copy in memory of its own size. Not of Node's pool: there a payload of 80 bytes keeps 8 KiB alive as long as it
 * waits, if what came before and after it is gone, and it is charged for 80.
 */
export function ownBytes(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array {
  if (start === end) return NOTHING;
  const own = Buffer.allocUnsafeSlow(end - start);
  if (bytes instanceof Buffer) bytes.copy(own, 0, start, end);
  else own.set(bytes.subarray(start, end));
  return own;
}

/** The same of what an item carries. */
export function ownPayload(bytes: Uint8Array, start = 0, end = bytes.length): Payload {
  if (end - start > SMALL_PAYLOAD) return ownBytes(bytes, start, end);
  const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return byteText(buffer.toString('latin1', start, end));
}
