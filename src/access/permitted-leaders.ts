/** The calls about leaders, as far as their principal may ask them. Candidates are named within it. */
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  Leaders,
  LeaderView,
  PredecessorView,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  Waiting,
  WithdrawRequest,
  YieldView,
} from '../coordinator.js';
import { ownId, PlainReply, plainId } from './own-ids.js';
import { notAllowed } from './permitted.js';
import type { Principal } from './principal.js';
import type { Verb } from './settings.js';

export class PermittedLeaders implements Leaders {
  constructor(
    private readonly leaders: Leaders,
    private readonly principal: Principal,
  ) {}

  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting {
    if (!this.#may('consume', request.group, reply)) return undefined;
    const candidateId = ownId(this.principal, request.candidateId);
    return this.leaders.stand({ ...request, candidateId }, new PlainReply(reply, plainCandidate));
  }

  report(request: ReportRequest, reply: Reply<ReportAnswer>): void {
    if (this.#may('consume', request.group, reply)) this.leaders.report(request, reply);
  }

  withdraw(request: WithdrawRequest, reply: Reply<void>): void {
    if (!this.#may('consume', request.group, reply)) return;
    this.leaders.withdraw({ ...request, candidateId: ownId(this.principal, request.candidateId) }, reply);
  }

  /** Who stands may know who leads. */
  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting {
    const mayStand = this.principal.grants.mayGroup('consume', request.group);
    if (!mayStand && !this.#may('view', request.group, reply)) return undefined;
    return this.leaders.awaitLeader(request, new PlainReply(reply, plainGroup));
  }

  yieldLeader(group: string, reply: Reply<YieldView>): void {
    if (this.#may('operate', group, reply)) this.leaders.yieldLeader(group, new PlainReply(reply, plainYield));
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
  };
}

function plainYield({ asked }: YieldView): YieldView {
  return { asked: asked && named(asked) };
}
