/**
 * A copy of bytes. A handler that has returned, or a caller that has given up, may change its bytes, and they may still have to
 * be sent once more. (`slice` of a Buffer is no copy.)
 */
export function copied(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? bytes : new Uint8Array(bytes);
}
