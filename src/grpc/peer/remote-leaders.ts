/** The calls about leaders for one partition of another sidecar. */
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  Leaders,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  Waiting,
  WithdrawRequest,
  YieldView,
} from '../../coordinator.js';
import { type ReadAnswer, UNNAMED } from './codec/answers.js';
import { CALL } from './codec/entries.js';
import type { WriteRequest } from './codec/requests.js';
import type { Kind } from './kinds.js';
import {
  LEADER,
  readCandidateView,
  readGroupView,
  readReportAnswer,
  readWithdrawn,
  readYieldView,
  writeAwaitLeader,
  writeReport,
  writeStand,
  writeWithdraw,
  writeYield,
} from './leader-messages.js';
import type { Beside } from './remote-calls.js';

/** They say how things are: who gives one up has missed nothing. */
const STAND: Kind<StandRequest, CandidateView> = {
  ...plain(LEADER.stand, writeStand, readCandidateView),
  canBeUndone: true,
};
const AWAIT: Kind<AwaitLeaderRequest, GroupView> = {
  ...plain(LEADER.await, writeAwaitLeader, readGroupView),
  canBeUndone: true,
};
const REPORT: Kind<ReportRequest, ReportAnswer> = plain(LEADER.report, writeReport, readReportAnswer);
const WITHDRAW: Kind<WithdrawRequest, void> = plain(LEADER.withdraw, writeWithdraw, readWithdrawn);
/** Asked again it may reach the next leader. */
const YIELD: Kind<string, YieldView> = { ...plain(LEADER.yield, writeYield, readYieldView), isRepeatable: false };

type Ask = <R, A>(kind: Kind<R, A>, request: R, reply: Reply<A>, beside?: Beside) => Waiting;

export class RemoteLeaders implements Leaders {
  constructor(private readonly ask: Ask) {}

  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting {
    return this.ask(STAND, request, reply);
  }

  report(request: ReportRequest, reply: Reply<ReportAnswer>): void {
    this.ask(REPORT, request, reply);
  }

  withdraw(request: WithdrawRequest, reply: Reply<void>): void {
    this.ask(WITHDRAW, request, reply);
  }

  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting {
    return this.ask(AWAIT, request, reply);
  }

  yieldLeader(group: string, reply: Reply<YieldView>, principal?: string): void {
    this.ask(YIELD, group, reply, { principal });
  }
}

function plain<R, A>(outcome: number, write: WriteRequest<R>, read: ReadAnswer<A>): Kind<R, A> {
  const named = () => UNNAMED;
  const gives = () => undefined;
  return { entry: CALL.leader, outcome, write, read, named, gives, canBeUndone: false, isRepeatable: true };
}
