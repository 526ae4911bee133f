/** One call of the port after another: check, do, answer. */
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  TermLossCause,
  WithdrawRequest,
  YieldView,
} from '../contract/leader.js';
import { LEADER_LIMITS } from '../contract/leader.js';
import type { Bytes, Refusal, Reply, SessionStamp } from '../contract/model.js';
import { CANCELLED, DRAINING, memoryFull } from '../contract/refusals.js';
import {
  Candidate,
  LeaderCall,
  LeaderGroup,
  StandCall,
  type Term,
  type WaitingLeaderCall,
} from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';
import { broke, join, leave } from './candidates.js';
import { findOrMakeGroup, leaderLimit } from './groups.js';
import { mayHaveLedBefore } from './holding.js';
import { dismiss, groupView, isLate, pushLeader, pushView } from './telling.js';
import { askToHandOver, begin, endTerm, goOn, inaugurated } from './terms.js';

const NOTHING: Bytes = new Uint8Array(0);

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
  const candidate = candidateOf(state, group, request, now);
  if (candidate === 'replaced') return void pushView(state, reply, { at: 'replaced' });
  if (!(candidate instanceof Candidate)) return refuse(state, reply, candidate);
  // The same stream asks again: it has given up the call before.
  if (candidate.call !== undefined) refuse(state, candidate.call.reply, CANCELLED);
  const call = new StandCall(group, candidate, reply, request.knows);
  candidate.call = call;
  goOn(state, group, now);
  return candidate.call === call ? call : undefined;
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
  const full = fullBy(state, group);
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
): Candidate | 'replaced' {
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
function taken(state: CoreState, candidate: Candidate, request: StandRequest): Candidate | 'replaced' {
  if (isSame(candidate.stamp, request.stamp)) return candidate;
  if (isSuperseded(candidate, request)) return 'replaced';
  dismiss(state, candidate, 'replaced');
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
  const adopted = begin(state, group, candidate, token, now);
  adopted.adopted = true;
  adopted.mayHaveBegun = true;
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

function wasReleased({ predecessor }: LeaderGroup, term: number): boolean {
  return predecessor.term === term && predecessor.how === 'handed_over';
}

/** What a leader says of its term. */
export function report(state: CoreState, request: ReportRequest, reply: Reply<ReportAnswer>, now: number): void {
  const group = state.leaders.groups.get(request.group);
  if (group === undefined) return answer(state, reply, { counted: false, cause: 'unknown' });
  if (group.term === undefined || isOver(Math.min(group.term.leaseEnd, group.term.deadline), now))
    goOn(state, group, now);
  const { term } = group;
  if (term?.token !== request.term) return reportLate(state, group, request, reply, now);
  term.mayHaveBegun = true;
  const refusal = carryOut(state, group, term, request.report, now);
  if (refusal !== undefined) return void refuse(state, reply, refusal);
  const isCounted = term.at !== 'lost' || isEnd(request.report);
  answer(
    state,
    reply,
    isCounted ? { counted: true, ttl: term.candidate.ttl } : lostBy(term.cause),
    request.report.kind !== 'alive',
  );
  // A leader that lives changes nothing for anybody: its timer looks again when it fires.
  if (request.report.kind !== 'alive') goOn(state, group, now);
}

function isEnd({ kind }: ReportRequest['report']): boolean {
  return kind === 'handed_over' || kind === 'stopped';
}

function lostBy(cause: TermLossCause = 'unknown'): ReportAnswer {
  return { counted: false, cause };
}

function carryOut(
  state: CoreState,
  group: LeaderGroup,
  term: Term,
  said: ReportRequest['report'],
  now: number,
): Refusal | undefined {
  switch (said.kind) {
    case 'alive':
      if (term.at !== 'lost') term.leaseEnd = after(now, term.candidate.ttl);
      return undefined;
    case 'inaugurated':
      if (term.at !== 'lost') inaugurated(state, group, term, now);
      return undefined;
    case 'yield':
      term.failed ||= said.failed;
      askToHandOver(state, group, term, 'yield', now);
      return undefined;
    case 'stopped':
      endTerm(state, group, term, { how: 'lost', cause: term.cause ?? 'ttl' }, now);
      term.candidate.lost = undefined;
      return undefined;
    case 'handed_over':
      if (!hasRoom(state, group, said.state.length)) return memoryFull(state.settings.limits.payloadMemoryBytes);
      // One of an earlier run that leaves something had been inaugurated there.
      if (term.adopted && said.state.length > 0) inaugurated(state, group, term, now);
      endTerm(state, group, term, { how: 'handed_over', state: said.state }, now);
      return undefined;
  }
}

function hasRoom({ payloadBytes, elsewhere, settings }: CoreState, group: LeaderGroup, bytes: number): boolean {
  const more = bytes - group.state.length;
  return more <= 0 || payloadBytes + elsewhere.payloadBytes + more <= settings.limits.payloadMemoryBytes;
}

/** The term is over. Who confirms that it has stopped may lead again; a hand-over that is said again is answered again. */
function reportLate(
  state: CoreState,
  group: LeaderGroup,
  { term, report: said }: ReportRequest,
  reply: Reply<ReportAnswer>,
  now: number,
): void {
  if (said.kind === 'handed_over' && wasReleased(group, term)) return answer(state, reply, { counted: true, ttl: 0 });
  const loser = [...group.candidates.values()].find(({ lost }) => lost?.term === term);
  answer(state, reply, lostBy(loser?.lost?.cause));
  if (!isEnd(said) || loser === undefined) return;
  loser.lost = undefined;
  goOn(state, group, now);
}

/** The candidacy is over. Of a leader it is a yield, after which it does not stand again. */
export function withdraw(state: CoreState, request: WithdrawRequest, reply: Reply<void>, now: number): void {
  const { group: name, candidateId, stamp } = request;
  const group = state.leaders.groups.get(name);
  const term = group?.term;
  if (group !== undefined && term?.candidate.id === candidateId && isSame(term.candidate.stamp, stamp)) {
    term.candidate.withdrawn = true;
    askToHandOver(state, group, term, 'yield', now);
    // It withdrew before it had heard that it was chosen: nobody would say that the term is over.
    if (!term.mayHaveBegun) endTerm(state, group, term, { how: 'handed_over', state: NOTHING }, now);
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
  const call = new LeaderCall(group, request, reply);
  group.watchers.add(call);
  state.leaders.watchers += 1;
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
    if (group.watchers.delete(call)) state.leaders.watchers -= 1;
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
    state.leaders.watchers -= watchers.size;
    watchers.clear();
  }
}

function answer(state: CoreState, to: Reply<ReportAnswer>, said: ReportAnswer, tellsOfChange = true): void {
  state.effects.push({ kind: 'reported', to, answer: said }, tellsOfChange && isLate(state));
}

function refuse(state: CoreState, to: Reply<never>, refusal: Refusal): undefined {
  state.effects.push({ kind: 'refuse', to, refusal }, false);
}
