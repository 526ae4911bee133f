/** The time that a call leaves us. */

/** What is known of who calls. */
export interface Caller {
  getPeer(): string;
  getDeadline(): Date | number;
  /** How many calls of the server wait at this moment. */
  readonly waiting: number;
}

const MARGIN_MS = 20;
/**
 * Up to this many waiting calls the margin is the promised one. A connection is closed after about a thousand calls
 * whose deadline ended; a client that begins so many together sends them late, and a deadline travels as what was left
 * before that; when they end together, it reads the answers late. So with more, each takes 5 ms more, up to five seconds.
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
  return Math.max(0, Math.floor(left - Math.min(margin(caller.waiting), left / 2)));
}

function margin(waiting: number): number {
  const more = Math.max(0, waiting - MANY_WAITS) * MARGIN_PER_WAIT_MS;
  return Math.min(MARGIN_MS + more, LARGEST_MARGIN_MS);
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

/** Empty: who calls is named by where the call came from. */
export function consumerOf(named: string, caller: Caller): string {
  if (named !== '') return named;
  const peer = caller.getPeer();
  // A peer on a Unix socket has no address.
  return peer === 'unknown' ? 'unix' : peer;
}
