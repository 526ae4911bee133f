/** One call of the port after another: check, do, answer. */
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  StandRequest,
  WithdrawRequest,
  YieldView,
} from '../contract/leader.js';
import { LEADER_LIMITS } from '../contract/leader.js';
import type { Bytes, Refusal, Reply, SessionStamp } from '../contract/model.js';
import { CANCELLED, DRAINING } from '../contract/refusals.js';
import { bytesOfTexts, COSTS, costOfCandidate } from '../state/held.js';
import {
  Candidate,
  LeaderCall,
  LeaderGroup,
  StandCall,
  type Term,
  type WaitingLeaderCall,
} from '../state/leader-group.js';
import { lacksMemory } from '../state/memory-budget.js';
import type { CoreState } from '../state/state.js';
import { broke, join, leave } from './candidates.js';
import { findOrMakeGroup, leaderLimit } from './groups.js';
import { mayHaveLedBefore } from './holding.js';
import { wasReleased } from './reports.js';
import { dismiss, forgetWatchers, groupView, isLate, pushLeader, pushView, refuse } from './telling.js';
import { askToHandOver, begin, endTerm, goOn } from './terms.js';

/** @returns what waits, if anything does */
export function stand(
  state: CoreState,
  request: StandRequest,
  reply: Reply<CandidateView>,
  now: number,
): WaitingLeaderCall | undefined {
  const group = findOrMakeGroup(state, request.group, now);
  if (!(group instanceof LeaderGroup)) return refuse(state, reply, group);
  goOn(state, group, now);
  if (request.withdrawn === true && !hasTerm(state, group, request)) {
    leaveLine(state, group, request);
    goOn(state, group, now);
    return void pushView(state, reply, { at: 'withdrawn' });
  }
  const candidate = candidateOf(state, group, request, now);
  if (candidate === 'replaced') return void pushView(state, reply, { at: 'replaced' });
  if (!(candidate instanceof Candidate)) return refuse(state, reply, candidate);
  // The same stream asks again: it has given up the call before.
  if (candidate.call !== undefined) refuse(state, candidate.call.reply, CANCELLED);
  const call = new StandCall(group, candidate, reply, request.knows);
  candidate.call = call;
  if (request.withdrawn === true && group.term?.candidate === candidate) withdrawLeader(state, group, group.term, now);
  goOn(state, group, now);
  return candidate.call === call ? call : undefined;
}

/** Whether it leads, or did in an earlier run of which nothing was kept. */
function hasTerm(state: CoreState, group: LeaderGroup, request: StandRequest): boolean {
  return (group.term !== undefined && isLeader(group.term, request)) || isAdoptable(state, group, request);
}

/** Who it is, which may be the leader: one that comes back with its term keeps it (L6). */
function candidateOf(
  state: CoreState,
  group: LeaderGroup,
  request: StandRequest,
  now: number,
): Candidate | 'replaced' | Refusal {
  const { term } = group;
  if (term !== undefined && isLeader(term, request)) return taken(state, term.candidate, request);
  const standing = group.candidates.get(request.candidateId);
  if (standing !== undefined) {
    if (isSame(standing.stamp, request.stamp) || !isAdoptable(state, group, request)) {
      return takenOver(state, group, standing, request);
    }
    if (isSuperseded(standing, request)) return 'replaced';
    leave(state, group, standing);
    dismiss(state, standing, 'replaced');
  }
  if (state.draining) return DRAINING;
  const candidate = new Candidate(request.candidateId);
  candidate.describe(request);
  candidate.stamp = request.stamp;
  if (isAdoptable(state, group, request)) return adopt(state, group, candidate, request.term, now);
  const full = fullBy(state, group) ?? lacksMemory(state, costOfCandidate(candidate));
  if (full !== undefined) return full;
  candidate.lost = lossOf(group, request);
  join(state, group, candidate);
  return candidate;
}

/** What it comes with, and has not stopped, is over. */
function lossOf(group: LeaderGroup, { term }: StandRequest): Candidate['lost'] {
  return term === undefined || wasReleased(group, term) ? undefined : { term, cause: 'unknown' };
}

/** A new stream says what its worker has to stop: nothing, if it is another life of the one that lost a term. */
function takenOver(
  state: CoreState,
  group: LeaderGroup,
  standing: Candidate,
  request: StandRequest,
): Candidate | 'replaced' | Refusal {
  const isNew = !isSame(standing.stamp, request.stamp);
  const candidate = taken(state, standing, request);
  if (isNew && candidate === standing && standing.lost?.term !== request.term) {
    standing.lost = lossOf(group, request);
  }
  return candidate;
}

/** The id alone is not enough: another life of it would begin to work while the first one does. */
function isLeader({ candidate, token }: Term, { candidateId, term, stamp }: StandRequest): boolean {
  return candidate.id === candidateId && (term === token || isSame(candidate.stamp, stamp));
}

/** The candidacy is this stream's from now on, unless that of a newer one already. */
function taken(state: CoreState, candidate: Candidate, request: StandRequest): Candidate | 'replaced' | Refusal {
  if (isSame(candidate.stamp, request.stamp)) return candidate;
  if (isSuperseded(candidate, request)) return 'replaced';
  const more = bytesOfTexts(request.metadata) - bytesOfTexts(candidate.metadata);
  const full = more > 0 ? lacksMemory(state, more) : undefined;
  if (full !== undefined) return full;
  dismiss(state, candidate, 'replaced');
  state.chargedBytes += more;
  candidate.describe(request);
  candidate.stamp = request.stamp;
  return candidate;
}

function isSuperseded({ stamp }: Candidate, request: StandRequest): boolean {
  return stamp !== undefined && isOlder(request.stamp, stamp);
}

/** Its id says which stream it is: when it began is known to the ms only in the process that has it. */
function isSame(a: SessionStamp | undefined, b: SessionStamp): boolean {
  return a?.by === b.by;
}

function isOlder(a: SessionStamp, b: SessionStamp): boolean {
  return a.at < b.at || (a.at === b.at && a.by < b.by);
}

/** Nothing is known of terms from before the start: who comes with one while nobody has led since is believed (S29). */
function isAdoptable(
  state: CoreState,
  group: LeaderGroup,
  request: StandRequest,
): request is StandRequest & { readonly term: number } {
  const { term } = group;
  if (request.term === undefined || !mayHaveLedBefore(state, group)) return false;
  // Not one that is over since, nor one from before a term that somebody was told of.
  if (request.term <= group.latest) return false;
  return state.tokens.mayBeEarlier(request.term) && (term === undefined || term.adopted);
}

/** It says again that it was inaugurated. Of two the larger term wins, as with turns (I5). */
function adopt(state: CoreState, group: LeaderGroup, candidate: Candidate, token: number, now: number): Candidate {
  const { term } = group;
  if (term !== undefined) endTerm(state, group, term, { how: 'lost', cause: 'unknown' }, now);
  // Another life of this id that had the smaller term: nothing stands twice.
  if (term?.candidate.id === candidate.id) {
    leave(state, group, term.candidate);
    dismiss(state, term.candidate, 'replaced');
  }
  const begun = begin(state, group, candidate, token, now);
  begun.adopted = true;
  begun.mayHaveBegun = true;
  return candidate;
}

function fullBy({ leaders, elsewhere }: CoreState, { name, candidates }: LeaderGroup): Refusal | undefined {
  const { candidacies, candidaciesOfGroup } = LEADER_LIMITS;
  if (candidates.size >= candidaciesOfGroup) {
    return leaderLimit('candidacies', `candidates stand in group ${name}`, candidaciesOfGroup);
  }
  const all = leaders.candidates + elsewhere.leaders.candidates;
  return all >= candidacies ? leaderLimit('candidacies', 'candidates stand', candidacies) : undefined;
}

/** Of a leader it is a yield, after which it does not stand again. Of a term that its worker knows nothing of yet it is the end. */
function withdrawLeader(state: CoreState, group: LeaderGroup, term: Term, now: number): void {
  term.candidate.withdrawn = true;
  askToHandOver(state, group, term, 'yield', now);
  // It may have withdrawn before it had heard that it was chosen: nobody would say that the term is over.
  if (!term.mayHaveBegun) endTerm(state, group, term, { how: 'handed_over', state: NO_STATE }, now);
}

const NO_STATE: Bytes = new Uint8Array(0);

/** It stands no more, nor does an older stream of it. */
function leaveLine(state: CoreState, group: LeaderGroup, request: StandRequest): void {
  const standing = group.candidates.get(request.candidateId);
  if (standing === undefined || isSuperseded(standing, request)) return;
  leave(state, group, standing);
  dismiss(state, standing, 'withdrawn');
}

/** The candidacy is over. */
export function withdraw(state: CoreState, request: WithdrawRequest, reply: Reply<void>, now: number): void {
  const { group: name, candidateId, stamp } = request;
  const group = state.leaders.groups.get(name);
  const leader = group?.term?.candidate;
  if (group?.term !== undefined && leader?.id === candidateId && isSame(leader.stamp, stamp)) {
    withdrawLeader(state, group, group.term, now);
  }
  const standing = group?.candidates.get(candidateId);
  if (group !== undefined && standing !== undefined && isSame(standing.stamp, stamp)) {
    leave(state, group, standing);
    dismiss(state, standing, 'withdrawn');
  }
  state.effects.push({ kind: 'withdrawn', to: reply }, isLate(state));
  if (group !== undefined) goOn(state, group, now);
}

/** Who leads; where the request says what it knows, when that is somebody else. */
export function awaitLeader(
  state: CoreState,
  request: AwaitLeaderRequest,
  reply: Reply<GroupView>,
  now: number,
): WaitingLeaderCall | undefined {
  const known = state.leaders.groups.get(request.group);
  if (known !== undefined) goOn(state, known, now);
  if (request.knows === undefined) return void pushLeader(state, reply, groupView(state, request.group, known, now));
  if (state.leaders.watchers + state.elsewhere.leaders.watchers >= LEADER_LIMITS.watchers) {
    return refuse(state, reply, leaderLimit('watchers', 'calls wait for a change of leader', LEADER_LIMITS.watchers));
  }
  const group = findOrMakeGroup(state, request.group, now);
  if (!(group instanceof LeaderGroup)) return refuse(state, reply, group);
  const full = lacksMemory(state, COSTS.watcher);
  if (full !== undefined) return refuse(state, reply, full);
  const call = new LeaderCall(group, request, reply);
  group.watchers.add(call);
  state.leaders.watchers += 1;
  state.chargedBytes += COSTS.watcher;
  goOn(state, group, now);
  return group.watchers.has(call) ? call : undefined;
}

/** An operator asks the leader to hand over. */
export function yieldLeader(state: CoreState, name: string, reply: Reply<YieldView>, now: number): void {
  const group = state.leaders.groups.get(name);
  if (group !== undefined) goOn(state, group, now);
  const term = group?.term;
  if (group !== undefined && term !== undefined) askToHandOver(state, group, term, 'operator', now);
  const asked = term && { candidateId: term.candidate.id, term: term.token };
  state.effects.push({ kind: 'yielded', to: reply, answer: { asked } }, isLate(state));
  if (group !== undefined) goOn(state, group, now);
}

/** Who asked is gone: no answer follows. A candidate is absent from now on. */
export function cancelLeaderCall(state: CoreState, call: WaitingLeaderCall, now: number): void {
  const { group } = call;
  if (call instanceof LeaderCall) {
    if (group.watchers.delete(call)) forgetWatchers(state, 1);
    return;
  }
  if (call.candidate.call !== call) return;
  broke(call.candidate, now);
  goOn(state, group, now);
}

/** The sidecar ends, and nothing is kept: every leader is asked to hand over. Else the terms go on without it. */
export function drainLeaders(state: CoreState, now: number): void {
  if (state.changes !== undefined) return;
  for (const group of state.leaders.groups.values()) {
    if (group.term === undefined) continue;
    askToHandOver(state, group, group.term, 'drain', now);
    goOn(state, group, now);
  }
}

/** Time passes no more: whoever waits is refused. */
export function refuseLeaderCalls(state: CoreState): void {
  for (const { term, candidates, watchers } of state.leaders.groups.values()) {
    for (const candidate of term === undefined ? candidates.values() : [term.candidate, ...candidates.values()]) {
      if (candidate.call !== undefined) refuse(state, candidate.call.reply, DRAINING);
      candidate.call = undefined;
    }
    for (const { reply } of watchers) refuse(state, reply, DRAINING);
    forgetWatchers(state, watchers.size);
    watchers.clear();
  }
}
