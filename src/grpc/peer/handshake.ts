/**
 * The first messages of a stream: both sides show that they know the secret of the cluster, without saying it. Each
 * proof covers the nonces of both and what the link is for, so none is good for another stream, lane or direction.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Challenge, End, Open } from '../gen/keyturn/peer/v1/peer.js';

/** The versions of the protocol that this release speaks. */
export const OLDEST = 1;
export const NEWEST = 1;
export const NONCE_BYTES = 32;
/** Nothing longer is read before the other side has shown that it belongs to the cluster. */
export const HANDSHAKE_BYTES = 4_096;
/** ms; a handshake that takes longer is broken off. */
export const HANDSHAKE_WITHIN = 3_000;
const LENGTH_BYTES = 4;
const NO_LINK = new Uint8Array(0);

export function nonce(): Buffer {
  return randomBytes(NONCE_BYTES);
}

/** @returns the newest version that both speak; unset: there is none */
export function commonVersion(theirs: { readonly oldest: number; readonly newest: number }): number | undefined {
  const version = Math.min(theirs.newest, NEWEST);
  return version >= Math.max(theirs.oldest, OLDEST) ? version : undefined;
}

export function proofOf(
  side: 'home' | 'gateway',
  secret: string,
  open: Open,
  challenge: Pick<Challenge, 'nonce' | 'version'>,
): Buffer {
  const hmac = createHmac('sha256', secret);
  const { before } = open;
  const ended = [before?.small ?? 0n, before?.large ?? 0n];
  const numbers = [open.oldest, open.newest, open.lane, open.received, open.resumes, ...ended, challenge.version].join(
    ' ',
  );
  const names = [`keyturn peer link, ${side}`, open.home, open.gateway, numbers];
  const parts = [...names, open.link, before?.link ?? NO_LINK, open.nonce, challenge.nonce];
  // Each with its length, so that no two lists of parts are the same bytes.
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(bytes.length);
    hmac.update(length).update(bytes);
  }
  return hmac.digest();
}

export function isProof(given: Uint8Array, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** `end` is the first field of a message that ends a link, and of no other. */
const END_TAG = [0x8a, 0x01] as const;

/** @returns how the other side ended the link, if that is what the message says */
export function asEnd(bytes: Buffer, decode: (bytes: Buffer) => End | undefined): End | undefined {
  return bytes[0] === END_TAG[0] && bytes[1] === END_TAG[1] ? decode(bytes) : undefined;
}
