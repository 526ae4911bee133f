/** Tokens: known by their hashes, so that who reads the file can use none of them. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KnownToken } from './settings.js';

/** 256 bits, as many as the hash has: nobody can guess one, so the hash needs neither salt nor rounds. */
const TOKEN_BYTES = 32;
/** So that those who look for secrets in files can find ours. */
const PREFIX = 'kt_';

export function newToken(): string {
  return PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
}

/** @returns 64 hexadecimal digits */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export class Tokens {
  readonly #known: ReadonlyMap<string, KnownToken>;

  constructor(tokens: readonly KnownToken[]) {
    this.#known = new Map(tokens.map((token) => [token.sha256, token]));
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * Looked up by the hash of what came: the time that takes tells of that hash only, which whoever asks has anyway. That
   * the two are one is compared in constant time.
   */
  find(sha256: string): KnownToken | undefined {
    const found = this.#known.get(sha256);
    return found !== undefined && timingSafeEqual(Buffer.from(found.sha256), Buffer.from(sha256)) ? found : undefined;
  }
}
