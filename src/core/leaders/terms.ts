/**
 * A term begins, goes from phase to phase, and ends. The one writer of a group's term.
 *
 *     inaugurating --inaugurated--> executing --asked--> handing_over --handed_over--> over
 *          '------------------------- too late: lost, for the `ttl` --------------------'
 *
 * In every phase a term is over when its lease is, and when its leader says that it has stopped. Nobody else gets a term
 * before that (L2).
 */
import type { HandOverReason, TermLossCause } from '../contract/leader.js';
import type { Bytes } from '../contract/model.js';
import { COSTS, costOfCandidate } from '../state/held.js';
import { type Candidate, type LeaderGroup, Term } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';
import { backOff, dropAbsent, firstThatMay, forgetBackOff, isPresent, join, leave, lineDue } from './candidates.js';
import { heldBackUntil } from './holding.js';
import { countInauguration } from './numbers.js';
import { dismiss, tellAll } from './telling.js';

/** When no term may begin because the disk takes no tokens, it is tried again so much later, ms. */
const TOKENS_AGAIN = 1_000;

/** What is due happens, the next leader is chosen, whoever does not know how things are is told. After every change. */
export function goOn(state: CoreState, group: LeaderGroup, now: number): void {
  endWhatIsOver(state, group, now);
  dropAbsent(state, group, now);
  if (group.term === undefined) elect(state, group, now);
  tellAll(state, group, now);
  schedule(state, group, now);
}

/** What has come first ends first: a tick may be late. */
function endWhatIsOver(state: CoreState, group: LeaderGroup, now: number): void {
  const { term } = group;
  if (term === undefined) return;
  const { leaseEnd, deadline, at } = term;
  if (isOver(leaseEnd, now) && leaseEnd <= deadline)
    endTerm(state, group, term, { how: 'lost', cause: causeOf(term) }, now);
  else if (isOver(deadline, now)) {
    lose(state, group, term, at === 'inaugurating' ? 'inaugurate_timeout' : 'hand_over_timeout', now);
  } else if (isOver(leaseEnd, now)) endTerm(state, group, term, { how: 'lost', cause: causeOf(term) }, now);
}

function causeOf({ cause }: Term): TermLossCause {
  return cause ?? 'ttl';
}

function elect(state: CoreState, group: LeaderGroup, now: number): void {
  if (state.draining || !isOver(heldBackUntil(state, group), now) || state.tokens.areUsedUp) return;
  const candidate = firstThatMay(group, now);
  if (candidate !== undefined) begin(state, group, candidate, state.tokens.next(), now);
}

/** A term begins with its inauguration. Precondition: there is none. */
export function begin(state: CoreState, group: LeaderGroup, candidate: Candidate, token: number, now: number): Term {
  leave(state, group, candidate);
  state.chargedBytes += COSTS.term + costOfCandidate(candidate);
  const { ttl, inaugurateTimeout } = candidate;
  const term = new Term(token, candidate, after(now, ttl), after(now, inaugurateTimeout));
  group.term = term;
  group.latest = token;
  group.since = now;
  state.leaders.terms += 1;
  state.changes?.leader(group.name);
  return term;
}

/** The inauguration is done. A leader that was asked to hand over meanwhile does so. */
export function inaugurated(state: CoreState, group: LeaderGroup, term: Term, now: number): void {
  if (term.worked) return;
  countInauguration(group, now);
  term.worked = true;
  if (term.at === 'inaugurating') {
    term.at = 'executing';
    term.deadline = Number.POSITIVE_INFINITY;
  }
  state.changes?.leader(group.name);
}

/** It is asked once: who asks later changes nothing. */
export function askToHandOver(
  state: CoreState,
  group: LeaderGroup,
  term: Term,
  reason: HandOverReason,
  now: number,
): void {
  if (term.at !== 'inaugurating' && term.at !== 'executing') return;
  term.at = 'handing_over';
  term.reason = reason;
  term.deadline = after(now, term.candidate.handOverTimeout);
  state.changes?.leader(group.name);
}

/** The leader is told that the term is lost: `alive` counts no more, and the term is over when it confirms, or `ttl` later (L4). */
function lose(state: CoreState, group: LeaderGroup, term: Term, cause: TermLossCause, now: number): void {
  term.at = 'lost';
  term.cause = cause;
  term.deadline = Number.POSITIVE_INFINITY;
  term.leaseEnd = after(now, term.candidate.ttl);
  state.changes?.leader(group.name);
}

type Ending =
  | { readonly how: 'handed_over'; readonly state: Bytes }
  | { readonly how: 'lost'; readonly cause: TermLossCause };

/** The term is over. What a leader leaves that was never inaugurated is not kept: it has not worked (L3). */
export function endTerm(state: CoreState, group: LeaderGroup, term: Term, ending: Ending, now: number): void {
  const { candidate, token, worked } = term;
  group.term = undefined;
  group.since = now;
  state.leaders.terms -= 1;
  state.chargedBytes -= COSTS.term + costOfCandidate(candidate);
  if (worked) group.predecessor = { candidateId: candidate.id, term: token, how: ending.how };
  count(group, term, ending.how, now);
  if (worked && ending.how === 'handed_over') keep(state, group, ending.state);
  if (hasFailed(term)) backOff(state, group, candidate.id, now);
  else if (worked) forgetBackOff(state, group, candidate.id);
  state.changes?.leader(group.name);
  if (ending.how === 'lost') candidate.lost = { term: token, cause: ending.cause };
  standAgain(state, group, candidate, now);
}

function count(group: LeaderGroup, term: Term, how: Ending['how'], now: number): void {
  if (!term.worked) {
    if (hasFailed(term)) group.inaugurationsFailed += 1;
    return;
  }
  if (how === 'handed_over') group.handedOver += 1;
  else group.lost += 1;
  // Who says something at the end lives; of who is silent the last `alive` was so long ago.
  group.livedAt = isOver(term.leaseEnd, now) ? Math.min(now, term.leaseEnd) - term.candidate.ttl : now;
}

/** Its work failed, or its inauguration did and nobody had asked it to stop. */
function hasFailed({ failed, worked, reason }: Term): boolean {
  return failed || (!worked && reason === undefined);
}

/** What a hand-over leaves takes the place of what the one before left. */
export function keep(state: CoreState, group: LeaderGroup, left: Bytes): void {
  state.payloadBytes += left.length - group.state.length;
  group.state = left;
}

/** Behind all others. Nobody keeps a place for one that is not there: it comes anew. */
function standAgain(state: CoreState, group: LeaderGroup, candidate: Candidate, now: number): void {
  if (candidate.withdrawn) return dismiss(state, candidate, 'withdrawn');
  // Another life of the same id waits already.
  if (group.candidates.has(candidate.id)) return dismiss(state, candidate, 'replaced');
  if (isPresent(candidate, now)) join(state, group, candidate);
}

function schedule(state: CoreState, group: LeaderGroup, now: number): void {
  const { term } = group;
  let due = lineDue(group, term === undefined, now);
  if (term !== undefined) due = Math.min(due, term.leaseEnd, term.deadline);
  else if (group.candidates.size > 0 && !state.draining) due = Math.min(due, mayElectAt(state, group, now));
  if (due === Number.POSITIVE_INFINITY) state.wheel.cancel(group);
  else state.wheel.schedule(group, Math.ceil(due));
}

/** When what keeps every term back may have ended; Infinity: nothing keeps them back. */
function mayElectAt(state: CoreState, group: LeaderGroup, now: number): number {
  const heldUntil = heldBackUntil(state, group);
  if (!isOver(heldUntil, now)) return heldUntil;
  return state.tokens.areUsedUp ? now + TOKENS_AGAIN : Number.POSITIVE_INFINITY;
}
