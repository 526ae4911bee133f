/** The calls about leaders, as far as their principal may ask them. Candidates are named within it. */
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  LeaderKnows,
  Leaders,
  LeaderView,
  PredecessorView,
  Refusal,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  Waiting,
  WithdrawRequest,
  YieldView,
} from '../coordinator.js';
import { ownId, PlainReply, plainId, withPlainCandidate } from './own-ids.js';
import { notAllowed } from './permitted.js';
import type { Principal } from './principal.js';
import type { Verb } from './settings.js';

export class PermittedLeaders implements Leaders {
  constructor(
    private readonly leaders: Leaders,
    private readonly principal: Principal,
  ) {}

  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting {
    if (!this.#settles(reply) || !this.#may('consume', request.group, reply)) return undefined;
    const candidateId = ownId(this.principal, request.candidateId);
    return this.leaders.stand({ ...request, candidateId }, new PlainReply(reply, plainCandidate));
  }

  report(request: ReportRequest, reply: Reply<ReportAnswer>): void {
    if (!this.#settles(reply) || !this.#may('consume', request.group, reply)) return;
    const { candidateId } = request;
    const own = candidateId === undefined ? request : { ...request, candidateId: ownId(this.principal, candidateId) };
    this.leaders.report(own, reply);
  }

  withdraw(request: WithdrawRequest, reply: Reply<void>): void {
    if (!this.#settles(reply) || !this.#may('consume', request.group, reply)) return;
    this.leaders.withdraw({ ...request, candidateId: ownId(this.principal, request.candidateId) }, reply);
  }

  /** Who stands may know who leads. */
  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting {
    if (!this.#asks(reply, request.knows)) return undefined;
    const mayStand = this.principal.grants.mayGroup('consume', request.group);
    if (!mayStand && !this.#may('view', request.group, reply)) return undefined;
    return this.leaders.awaitLeader(request, new PlainReply(reply, plainGroup));
  }

  yieldLeader(group: string, reply: Reply<YieldView>): void {
    if (this.#asks(reply, undefined) && this.#may('operate', group, reply))
      this.leaders.yieldLeader(group, new PlainReply(reply, plainYield), this.principal.name);
  }

  wasted(): Refusal | undefined {
    return this.principal.allowance?.asks();
  }

  /** @param knows what a call knew before that goes on; only its beginning counts */
  #asks(reply: Reply<never>, knows: LeaderKnows | undefined): boolean {
    const isFirst = knows === undefined || knows.term < 0;
    const refusal = isFirst ? this.principal.allowance?.asks() : undefined;
    if (refusal !== undefined) reply.refuse(refusal);
    return refusal === undefined;
  }

  /** What candidates and leaders say: it keeps, or gives back, what they have. */
  #settles(reply: Reply<never>): boolean {
    const refusal = this.principal.allowance?.settles();
    if (refusal !== undefined) reply.refuse(refusal);
    return refusal === undefined;
  }

  #may(verb: Verb, group: string, reply: Reply<never>): boolean {
    if (this.principal.grants.mayGroup(verb, group)) return true;
    reply.refuse(notAllowed(this.principal, verb, `group ${group}`));
    return false;
  }
}

function named<V extends { readonly candidateId: string }>(view: V): V {
  return { ...view, candidateId: plainId(view.candidateId) };
}

function plainCandidate(view: CandidateView): CandidateView {
  return view.at === 'inaugurate' ? { ...view, predecessor: named<PredecessorView>(view.predecessor) } : view;
}

function plainGroup(view: GroupView): GroupView {
  return {
    ...view,
    leader: view.leader && named<LeaderView>(view.leader),
    predecessor: named<PredecessorView>(view.predecessor),
    waits: view.waits && { ...view.waits, why: withPlainCandidate(view.waits.why) },
  };
}

function plainYield({ asked }: YieldView): YieldView {
  return { asked: asked && named(asked) };
}
