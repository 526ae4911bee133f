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

  /** Seconds until it may try again; unset: now. */
  mustWait(address: string): number | undefined {
    const failures = this.#failures.get(address);
    if (failures === undefined) return undefined;
    const left = failures.since + WITHIN_MS - this.now();
    if (left <= 0) this.#failures.delete(address);
    return left > 0 && failures.count >= FAILURES ? Math.ceil(left / 1_000) : undefined;
  }

  failed(address: string): void {
    const failures = this.#failures.get(address);
    if (failures === undefined) this.#failures.set(address, { count: 1, since: this.now() });
    else failures.count += 1;
  }
}
