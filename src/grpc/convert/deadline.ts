/** The time that a call leaves us. */

/** What is known of the caller. */
export interface Caller {
  getPeer(): string;
  getDeadline(): Date | number;
  /** How many calls of the server wait at this moment. */
  readonly waiting: number;
}

/**
 * A client that begins many calls together sends the last ones late, and a deadline travels as what was left before
 * that; when they end together it reads the answers late. How late grows with what it does meanwhile, so with the time.
 */
const PART_OF_LEFT = 1 / 10;
const SMALLEST_MARGIN_MS = 20;
const LARGEST_PART_MS = 1_000;
/**
 * Up to this many waiting calls that is enough. A connection is closed after about a thousand calls whose deadline ended,
 * so with more, each takes 5 ms more, up to five seconds.
 */
const MANY_WAITS = 200;
const MARGIN_PER_WAIT_MS = 5;
const LARGEST_MARGIN_MS = 5_000;

/**
 * How many ms a call may wait so that its answer is out before its own deadline; Infinity without one. A call whose
 * deadline ends on its way costs its whole connection: after about a thousand of them Node closes it.
 */
export function answerWithin(caller: Caller): number {
  if (caller.getDeadline() === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  const left = timeLeft(caller);
  return Math.max(0, Math.floor(left - Math.min(margin(left, caller.waiting), left / 2)));
}

function margin(left: number, waiting: number): number {
  const part = Math.min(Math.max(left * PART_OF_LEFT, SMALLEST_MARGIN_MS), LARGEST_PART_MS);
  const more = Math.max(0, waiting - MANY_WAITS) * MARGIN_PER_WAIT_MS;
  return Math.min(part + more, LARGEST_MARGIN_MS);
}

export function isOver(caller: Pick<Caller, 'getDeadline'>): boolean {
  return timeLeft(caller) <= 0;
}

/**
 * A client ends a call at its own deadline, which is earlier than ours by as long as the call was on its way to us: what
 * ends so shortly before was ended by it, as far as anybody can tell.
 */
const ON_ITS_WAY_MS = 100;

export function endedByDeadline(caller: Pick<Caller, 'getDeadline'>): boolean {
  return timeLeft(caller) <= ON_ITS_WAY_MS;
}

/** By the wall clock, because grpc-js took the deadline from it when the call arrived, a moment ago. */
function timeLeft(caller: Pick<Caller, 'getDeadline'>): number {
  return Number(caller.getDeadline()) - Date.now();
}

/** Empty: the caller is named by its address. */
export function consumerOf(named: string, caller: Caller): string {
  if (named !== '') return named;
  const peer = caller.getPeer();
  // A peer on a Unix socket has no address.
  return peer === 'unknown' ? 'unix' : peer;
}
