/** A group to its row and back. */
import type { LeaderRow, TermRow } from '../contract/rows.js';
import { COSTS, costOfCandidate } from '../state/held.js';
import { Candidate, LeaderGroup, Term } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { after } from '../structures/due.js';
import { keepGroup } from './groups.js';
import { goOn, keep } from './terms.js';

/** @param epoch what makes instants of moments */
export function leaderRow({ name, term, predecessor, state, since }: LeaderGroup, epoch: number): LeaderRow {
  return { table: 'leaders', group: name, term: term && termRow(term), predecessor, state, since: since + epoch };
}

function termRow({ token, at: phase, worked, reason, candidate }: Term): TermRow {
  const { id: candidateId, ttl, inaugurateTimeout, handOverTimeout, metadata } = candidate;
  return { token, phase, worked, reason, candidateId, ttl, inaugurateTimeout, handOverTimeout, metadata };
}

/** Its time begins when all rows are there. @param since when the term began or ended, in the time of the core */
export function restoreGroup(state: CoreState, row: LeaderRow, since: number): void {
  const group = new LeaderGroup(row.group, since);
  group.predecessor = row.predecessor;
  keep(state, group, row.state);
  group.term = row.term && restoredTerm(row.term);
  if (group.term !== undefined) {
    state.leaders.terms += 1;
    state.chargedBytes += COSTS.term + costOfCandidate(group.term.candidate);
  }
  keepGroup(state, group);
}

function restoredTerm({ candidateId, token, ...row }: TermRow): Term {
  const candidate = new Candidate(candidateId);
  candidate.describe(row);
  const term = new Term(token, candidate, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  term.at = row.phase;
  term.worked = row.worked;
  term.mayHaveBegun = true;
  term.reason = row.reason;
  return term;
}

/**
 * The term has its whole `ttl` from now: its leader may have been told a moment before the end that it lives so long. What
 * it was to do it may take its whole time for.
 */
export function resumeGroup(state: CoreState, group: LeaderGroup, now: number): void {
  const { term } = group;
  if (term !== undefined) {
    const { ttl, inaugurateTimeout, handOverTimeout } = term.candidate;
    term.leaseEnd = after(now, ttl);
    if (term.at === 'inaugurating') term.deadline = after(now, inaugurateTimeout);
    if (term.at === 'handing_over') term.deadline = after(now, handOverTimeout);
  }
  goOn(state, group, now);
}
