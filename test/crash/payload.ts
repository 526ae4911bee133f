/** Tags in payloads, and results that name their turn. */
import type { ItemCall } from '@keyturn/client';

/** @param bytes how large the payload shall be at least */
export function payloadOf(tag: string, bytes: number): Uint8Array {
  return new TextEncoder().encode(`${tag}\n`.padEnd(bytes, '.'));
}

export function tagOf({ payload }: Pick<ItemCall, 'payload'>): string {
  const text = textOf(payload) ?? '';
  const end = text.indexOf('\n');
  return end < 0 ? text : text.slice(0, end);
}

export function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}
