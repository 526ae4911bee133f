import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupView,
  Leaders,
  Pending,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  Waiting,
  WithdrawRequest,
  YieldView,
} from '../coordinator.js';
import type { WaitingLeaderCall } from '../core/core.js';
import type { Loop } from './loop.js';

/** The calls about leaders: each one step of the core, with what follows from it. */
export class LocalLeaders implements Leaders {
  constructor(private readonly loop: Loop) {}

  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting {
    if (this.#isRefused(reply)) return undefined;
    return this.#waiting(this.loop.core.stand(request, reply, this.loop.now()), reply);
  }

  report(request: ReportRequest, reply: Reply<ReportAnswer>): void {
    // A leader that lives changes nothing that is kept: it goes on while the disk takes nothing.
    if (this.#isRefused(reply, request.report.kind === 'alive')) return;
    this.loop.core.report(request, reply, this.loop.now());
    this.loop.afterStep();
  }

  withdraw(request: WithdrawRequest, reply: Reply<void>): void {
    if (this.#isRefused(reply)) return;
    this.loop.core.withdraw(request, reply, this.loop.now());
    this.loop.afterStep();
  }

  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting {
    if (this.#isRefused(reply)) return undefined;
    return this.#waiting(this.loop.core.awaitLeader(request, reply, this.loop.now()), reply);
  }

  yieldLeader(group: string, reply: Reply<YieldView>): void {
    if (this.#isRefused(reply)) return;
    this.loop.core.yieldLeader(group, reply, this.loop.now());
    this.loop.afterStep();
  }

  #isRefused(reply: Reply<never>, withoutDisk = false): boolean {
    const availability = this.loop.store?.availability;
    const refusal = availability?.closed ?? (withoutDisk ? undefined : availability?.durableClosed);
    if (refusal === undefined) return false;
    reply.refuse(refusal);
    return true;
  }

  #waiting(call: WaitingLeaderCall | undefined, reply: Reply<never>): Waiting {
    this.loop.afterStep();
    return call === undefined ? new Answered(this.loop, reply) : new PendingLeaderCall(this.loop, call, reply);
  }
}

/** Its answer may still wait for the disk. */
class Answered implements Pending {
  constructor(
    private readonly loop: Loop,
    private readonly reply: Reply<never>,
  ) {}

  cancel(): void {
    this.loop.store?.cancelled(this.reply, false);
  }
}

class PendingLeaderCall implements Pending {
  constructor(
    private readonly loop: Loop,
    private readonly call: WaitingLeaderCall,
    private readonly reply: Reply<never>,
  ) {}

  cancel(): void {
    const { loop } = this;
    loop.store?.cancelled(this.reply, false);
    loop.core.cancelLeaderCall(this.call, loop.now());
    loop.afterStep();
  }
}
