import type * as leader from '../contract/leader.js';
import type { Reply } from '../contract/model.js';
import * as leaders from '../leaders/calls.js';
import { groupNumbers } from '../leaders/numbers.js';
import * as reports from '../leaders/reports.js';
import type { WaitingLeaderCall } from '../state/leader-group.js';
import { PartitionCalls } from './partition-calls.js';

/** The calls about leaders, each one step. */
export abstract class LeaderCalls extends PartitionCalls {
  /** @returns what waits until the candidate stands otherwise than it knows */
  stand(request: leader.StandRequest, reply: Reply<leader.CandidateView>, now: number) {
    this.begin(now);
    return this.finish(leaders.stand(this.state, request, reply, now), now);
  }

  report(request: leader.ReportRequest, reply: Reply<leader.ReportAnswer>, now: number): void {
    this.begin(now);
    reports.report(this.state, request, reply, now);
    this.finish(undefined, now);
  }

  withdraw(request: leader.WithdrawRequest, reply: Reply<void>, now: number): void {
    this.begin(now);
    leaders.withdraw(this.state, request, reply, now);
    this.finish(undefined, now);
  }

  /** @returns what waits until somebody else leads */
  awaitLeader(request: leader.AwaitLeaderRequest, reply: Reply<leader.GroupView>, now: number) {
    this.begin(now);
    return this.finish(leaders.awaitLeader(this.state, request, reply, now), now);
  }

  yieldLeader(group: string, reply: Reply<leader.YieldView>, now: number): void {
    this.begin(now);
    leaders.yieldLeader(this.state, group, reply, now);
    this.finish(undefined, now);
  }

  /** The one who asked is gone: no answer follows. */
  cancelLeaderCall(call: WaitingLeaderCall, now: number): void {
    this.begin(now);
    leaders.cancelLeaderCall(this.state, call, now);
    this.finish(undefined, now);
  }

  /** The numbers of all groups, one at a time, as those of queues. @param clock the same one each time */
  groupNumbers(clock: () => number): Generator<leader.GroupNumbers, undefined> {
    return groupNumbers(this.state, clock);
  }
}
