/**
 * How many calls a connection may have open (SETTINGS_MAX_CONCURRENT_STREAMS). A client may send as many as it may have in
 * one go; all are read in one turn of the event loop, and what HTTP/2 does for each cannot be put off. So a connection
 * begins with few, and is allowed more while half of what it may have is at work, one connection in a turn. One that
 * leaves its answers unread keeps its calls open, but they are not at work: it is allowed no more.
 */
import type { ServerHttp2Session } from 'node:http2';

/** What clients assume before they have read our settings: with fewer they would exceed the limit by mistake. */
export const FIRST_CALLS = 100;
/** As many more as a quarter of what it may have, within these. Many in one go are felt by others, many steps by itself. */
const STEP_PART = 0.25;
const SMALLEST_STEP = 50;
const LARGEST_STEP = 250;
/** Each costs a few KiB while it waits. */
const MOST_CALLS = 10_000;
/** The part of them that is at work when more are allowed: early enough that a client seldom waits for it. */
const FULL = 0.5;

export type Allowing = Pick<ServerHttp2Session, 'destroyed' | 'settings'>;

export class CallAllowances {
  readonly #connections = new WeakMap<object, CallAllowance>();
  /** The next one first. */
  readonly #wanting = new Set<CallAllowance>();
  #turnAhead = false;

  /** @param next runs a task in the next turn of the event loop */
  constructor(private readonly next: (task: () => void) => void = (task) => void setImmediate(task)) {}

  of(session: Allowing): CallAllowance {
    const known = this.#connections.get(session);
    if (known !== undefined) return known;
    const allowance = new CallAllowance(session, (wanting) => this.#want(wanting));
    this.#connections.set(session, allowance);
    return allowance;
  }

  #want(allowance: CallAllowance): void {
    this.#wanting.add(allowance);
    if (this.#turnAhead) return;
    this.#turnAhead = true;
    this.next(this.#allowOne);
  }

  readonly #allowOne = (): void => {
    this.#turnAhead = false;
    const [first] = this.#wanting;
    if (first === undefined) return;
    this.#wanting.delete(first);
    first.grow();
    const [another] = this.#wanting;
    if (another !== undefined) this.#want(another);
  };
}

export class CallAllowance {
  #allowed = FIRST_CALLS;
  #atWork = 0;
  /** It stands in line, or its client has not said yet that it knows. */
  #isGrowing = false;

  constructor(
    private readonly session: Allowing,
    private readonly want: (allowance: CallAllowance) => void,
  ) {}

  began(): void {
    this.#atWork += 1;
    this.#look();
  }

  /** Once for each that began: it was answered, or given up. */
  ended(): void {
    this.#atWork -= 1;
  }

  /** @internal */
  grow(): void {
    this.#isGrowing = false;
    if (this.session.destroyed || !this.#isFull) return;
    this.#isGrowing = true;
    const step = Math.min(Math.max(Math.floor(this.#allowed * STEP_PART), SMALLEST_STEP), LARGEST_STEP);
    this.#allowed = Math.min(this.#allowed + step, MOST_CALLS);
    this.session.settings({ maxConcurrentStreams: this.#allowed }, () => {
      this.#isGrowing = false;
      this.#look();
    });
  }

  #look(): void {
    if (this.#isGrowing || !this.#isFull) return;
    this.#isGrowing = true;
    this.want(this);
  }

  get #isFull(): boolean {
    return this.#allowed < MOST_CALLS && this.#atWork >= this.#allowed * FULL;
  }
}
