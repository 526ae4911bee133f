/**
 * Bytes of one's own. What a handler returned, or a caller gave who waits no more, is theirs again, and may be sent once more
 * all the same. (`slice` of a Buffer is no copy.)
 */
export function copied(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? bytes : new Uint8Array(bytes);
}
