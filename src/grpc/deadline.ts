/** The time that a call leaves us. */

/** What a handler is told about who calls; a part of every call of grpc-js. */
export interface Caller {
  getPeer(): string;
  getDeadline(): Date | number;
}

const MARGIN_MS = 20;

/**
 * How many ms a call may wait so that its answer is out before its own deadline; Infinity without one. A call whose
 * deadline ends on its way costs its whole connection: after about a thousand of them Node closes it.
 */
export function answerWithin(caller: Caller): number {
  const left = timeLeft(caller);
  return Math.max(0, Math.floor(left - Math.min(MARGIN_MS, left / 2)));
}

export function isOver(caller: Caller): boolean {
  return timeLeft(caller) <= 0;
}

/** By the wall clock, because grpc-js took the deadline from it when the call arrived, a moment ago. */
function timeLeft(caller: Caller): number {
  return Number(caller.getDeadline()) - Date.now();
}

/** Empty: who calls is named by where the call came from. */
export function consumerOf(named: string, caller: Caller): string {
  if (named !== '') return named;
  const peer = caller.getPeer();
  // A peer on a Unix socket has no address.
  return peer === 'unknown' ? 'unix' : peer;
}
