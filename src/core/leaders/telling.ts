/** How things are for a candidate and for who watches, and who is told. */
import type { CandidateKnows, CandidateView, GroupView, LeaderView } from '../contract/leader.js';
import { knowsOf, leaderKnowsOf } from '../contract/leader.js';
import type { Refusal, Reply } from '../contract/model.js';
import { COSTS } from '../state/held.js';
import type { Candidate, LeaderGroup, Term } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { answered } from './candidates.js';
import { whyNobodyElse } from './explaining.js';

/** Whoever waits for other news than it has is answered. */
export function tellAll(state: CoreState, group: LeaderGroup, now: number): void {
  const { term } = group;
  if (term !== undefined) tell(state, term.candidate, () => leaderView(state, group, term, now), now);
  let position = 0;
  for (const candidate of group.candidates.values()) {
    position += 1;
    const place = position;
    tell(state, candidate, () => standingView(candidate, place), now);
  }
  tellWatchers(state, group, now);
}

function tell(state: CoreState, candidate: Candidate, look: () => CandidateView, now: number): void {
  const { call } = candidate;
  if (call === undefined) return;
  const view = look();
  if (isKnown(call.knows, knowsOf(view))) return;
  answered(candidate, now);
  pushView(state, call.reply, view);
}

/** The call of a candidate whose candidacy is over. */
export function dismiss(state: CoreState, candidate: Candidate, at: 'replaced' | 'withdrawn'): void {
  const { call } = candidate;
  candidate.call = undefined;
  if (call !== undefined) pushView(state, call.reply, { at });
}

export function refuse(state: CoreState, to: Reply<never>, refusal: Refusal): undefined {
  state.effects.push({ kind: 'refuse', to, refusal }, false);
}

export function pushView(state: CoreState, to: Reply<CandidateView>, answer: CandidateView): void {
  state.effects.push({ kind: 'candidate', to, answer }, isLate(state));
}

/** What is told of leaders waits until it is on disk, where there is one. */
export function isLate({ changes }: CoreState): boolean {
  return changes !== undefined;
}

function isKnown(knows: CandidateKnows | undefined, view: CandidateKnows): boolean {
  return knows !== undefined && knows.at === view.at && knows.number === view.number;
}

function standingView({ lost }: Candidate, position: number): CandidateView {
  return lost === undefined ? { at: 'standing', position } : { at: 'lost', ...lost };
}

function leaderView(state: CoreState, group: LeaderGroup, term: Term, now: number): CandidateView {
  const { token, at, reason = 'yield', cause = 'unknown', deadline } = term;
  switch (at) {
    case 'inaugurating':
      return { at: 'inaugurate', term: token, predecessor: group.predecessor, state: group.state };
    case 'executing':
      return { at: 'execute', term: token };
    case 'handing_over': {
      const within = Math.max(0, deadline - now);
      return { at: 'hand_over', term: token, reason, within, deadline: deadline + state.wallOffset };
    }
    case 'lost':
      return { at: 'lost', term: token, cause };
  }
}

function tellWatchers(state: CoreState, group: LeaderGroup, now: number): void {
  if (group.watchers.size === 0) return;
  const view = groupView(state, group.name, group, now);
  const is = leaderKnowsOf(view);
  for (const call of group.watchers) {
    const { knows } = call.request;
    if (knows !== undefined && knows.term === is.term && knows.phase === is.phase) continue;
    group.watchers.delete(call);
    forgetWatchers(state, 1);
    pushLeader(state, call.reply, view);
  }
}

/** So many calls wait no longer for a change of leader. */
export function forgetWatchers(state: CoreState, count: number): void {
  state.leaders.watchers -= count;
  state.chargedBytes -= count * COSTS.watcher;
}

export function pushLeader(state: CoreState, to: Reply<GroupView>, answer: GroupView): void {
  state.effects.push({ kind: 'leader', to, answer }, isLate(state));
}

/** @param group unset: nothing is known of it */
export function groupView(state: CoreState, name: string, group: LeaderGroup | undefined, now: number): GroupView {
  if (group === undefined) {
    const predecessor = { candidateId: '', term: 0, how: 'none' } as const;
    return { group: name, leader: undefined, candidates: 0, predecessor, waits: undefined };
  }
  const { term, candidates, predecessor } = group;
  const leader = term && viewOfTerm(state, group, term, now);
  const waits = whyNobodyElse(state, group, now);
  return { group: name, leader, candidates: candidates.size, predecessor, waits };
}

function viewOfTerm({ wallOffset }: CoreState, { since }: LeaderGroup, term: Term, now: number): LeaderView {
  const { candidate, token, at, leaseEnd } = term;
  return {
    candidateId: candidate.id,
    term: token,
    phase: at,
    since: since + wallOffset,
    metadata: candidate.metadata,
    holdsFor: Math.max(0, leaseEnd - now),
    holdsUntil: leaseEnd + wallOffset,
  };
}
