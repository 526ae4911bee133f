import { KeyturnError } from '../words/errors.js';
import type { TermLoss } from '../words/leader-words.js';

/** The term is, or must be taken for, somebody else's: stop at once. */
export class TermLostError extends KeyturnError {
  override readonly name = 'TermLostError';

  constructor(
    readonly group: string,
    readonly term: number,
    readonly loss: TermLoss,
    /** ms until another one may be inaugurated, at the soonest. */
    readonly left: number,
  ) {
    super(`term ${term} of group ${JSON.stringify(group)} is lost: ${WHY[loss]}`, 'ABORTED', 'TERM_LOST');
  }
}

/** The leader is asked to hand over: finish what is in hand. */
export class HandOverAsked extends KeyturnError {
  override readonly name = 'HandOverAsked';

  constructor(
    readonly group: string,
    readonly term: number,
    readonly asked: 'yield' | 'operator' | 'drain',
  ) {
    super(`the leader of group ${JSON.stringify(group)} is asked to hand over (${asked})`, 'CANCELLED', 'HAND_OVER');
  }
}

const WHY: Readonly<Record<TermLoss, string>> = {
  ttl: 'the sidecar heard nothing for its ttl',
  inaugurate_timeout: 'the inauguration took too long',
  hand_over_timeout: 'the hand-over took too long',
  unknown: 'the sidecar does not know it, or another one lives',
  unreachable: 'the sidecar confirmed nothing for its ttl less the margin',
  closed: 'the client was closed',
};
