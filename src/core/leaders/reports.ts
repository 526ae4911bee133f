/** What a worker says of a term, its own or one that is over. */
import type { ReportAnswer, ReportRequest, TermLossCause } from '../contract/leader.js';
import type { Refusal, Reply } from '../contract/model.js';
import { memoryFull } from '../contract/refusals.js';
import type { LeaderGroup, Term } from '../state/leader-group.js';
import { lacksMemory } from '../state/memory-budget.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';
import { isLate, refuse } from './telling.js';
import { askToHandOver, endTerm, goOn, inaugurated } from './terms.js';

/** What a leader says of its term. */
export function report(state: CoreState, request: ReportRequest, reply: Reply<ReportAnswer>, now: number): void {
  const group = state.leaders.groups.get(request.group);
  if (group === undefined) return answer(state, reply, { counted: false, cause: 'unknown' });
  if (group.term === undefined || isOver(Math.min(group.term.leaseEnd, group.term.deadline), now))
    goOn(state, group, now);
  const { term } = group;
  if (term?.token !== request.term) return reportLate(state, group, request, reply, now);
  if (isForeign(request, term.candidate.id)) return answer(state, reply, lostBy(), false);
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

/** Terms are no secret: who knows one neither ends it, nor keeps it alive, nor says what its leader leaves. */
function isForeign({ candidateId }: ReportRequest, id: string): boolean {
  return candidateId !== undefined && candidateId !== id;
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
      // What a leader leaves that was not inaugurated is not kept. One of an earlier run had been, as far as anybody knows.
      if (term.worked || term.adopted) {
        const full = lacksRoom(state, group, said.state.length);
        if (full !== undefined) return full;
      }
      if (term.adopted) inaugurated(state, group, term, now);
      endTerm(state, group, term, { how: 'handed_over', state: said.state }, now);
      return undefined;
  }
}

function lacksRoom(state: CoreState, group: LeaderGroup, bytes: number): Refusal | undefined {
  const { payloadBytes, elsewhere, settings } = state;
  const { payloadMemoryBytes } = settings.limits;
  const more = bytes - group.state.length;
  if (more <= 0) return undefined;
  if (payloadBytes + elsewhere.payloadBytes + more > payloadMemoryBytes) return memoryFull(payloadMemoryBytes);
  return lacksMemory(state, more);
}

/** The term is over. Who confirms that it has stopped may lead again; a hand-over that is said again is answered again. */
function reportLate(
  state: CoreState,
  group: LeaderGroup,
  request: ReportRequest,
  reply: Reply<ReportAnswer>,
  now: number,
): void {
  const { term, report: said } = request;
  if (said.kind === 'handed_over' && wasReleased(group, term)) return answer(state, reply, { counted: true, ttl: 0 });
  const loser = [...group.candidates.values()].find(({ id, lost }) => lost?.term === term && !isForeign(request, id));
  answer(state, reply, lostBy(loser?.lost?.cause));
  if (!isEnd(said) || loser === undefined) return;
  loser.lost = undefined;
  goOn(state, group, now);
}

/** It was handed over, as whoever says so again is told again. */
export function wasReleased({ predecessor }: LeaderGroup, term: number): boolean {
  return predecessor.term === term && predecessor.how === 'handed_over';
}

function answer(state: CoreState, to: Reply<ReportAnswer>, said: ReportAnswer, tellsOfChange = true): void {
  state.effects.push({ kind: 'reported', to, answer: said }, tellsOfChange && isLate(state));
}
