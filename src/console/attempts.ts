/** How often an address may fail to log in. Tokens are too long to be guessed; this keeps the trying cheap, and the log short. */
import { LRUCache } from 'lru-cache';

const MOST_ADDRESSES = 1_000;
const FAILURES = 10;
const WITHIN_MS = 60_000;

interface Failures {
  count: number;
  readonly since: number;
}

export class Attempts {
  readonly #failures = new LRUCache<string, Failures>({ max: MOST_ADDRESSES });

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * It has shown a token that does not hold. One that holds is always let in: nobody locks others of an address out by failing.
   *
   * @returns seconds until the next is worth an answer of its own; unset: this one is
   */
  failed(address: string): number | undefined {
    const now = this.now();
    const known = this.#failures.get(address);
    if (known === undefined || known.since + WITHIN_MS <= now) {
      this.#failures.set(address, { count: 1, since: now });
      return undefined;
    }
    if (known.count >= FAILURES) return Math.ceil((known.since + WITHIN_MS - now) / 1_000);
    known.count += 1;
    return undefined;
  }
}
