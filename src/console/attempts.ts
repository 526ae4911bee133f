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
   * It tries, which counts as a failure until it has succeeded: many at a time are no way around the bound.
   *
   * @returns seconds until it may try; unset: now
   */
  begin(address: string): number | undefined {
    const now = this.now();
    const known = this.#failures.get(address);
    const isOver = known === undefined || known.since + WITHIN_MS <= now;
    const failures = isOver ? { count: 0, since: now } : known;
    if (failures.count >= FAILURES) return Math.ceil((failures.since + WITHIN_MS - now) / 1_000);
    failures.count += 1;
    if (isOver) this.#failures.set(address, failures);
    return undefined;
  }

  succeeded(address: string): void {
    const failures = this.#failures.get(address);
    if (failures !== undefined && failures.count > 0) failures.count -= 1;
  }
}
