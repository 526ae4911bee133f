/** The calls about leaders that a gateway sends: asked of the home, and answered. */
import type { Leaders, Waiting } from '../../coordinator.js';
import { groupName } from '../convert/leaders.js';
import type { Check } from '../convert/validate.js';
import type { LeaderCall } from '../gen/keyturn/peer/v1/peer.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import { TELL } from './codec/entries.js';
import {
  readAwaitLeader,
  readReport,
  readStand,
  readWithdraw,
  writeCandidateView,
  writeGroupView,
  writeReportAnswer,
  writeWithdrawn,
  writeYieldView,
} from './leader-messages.js';
import type { ServedAudit } from './served-audit.js';
import type { ServedCall, TellForm } from './served-call.js';

interface Asker {
  readonly check: Check;
  readonly audit: ServedAudit;
  /** Who asks, as the gateway says; empty: nobody was asked. */
  readonly principal: string;
}

type Call = NonNullable<LeaderCall['call']>;

const STAND = form(writeCandidateView, true);
const REPORT = form(writeReportAnswer);
const WITHDRAW = form(writeWithdrawn);
const AWAIT = form(writeGroupView, true);
const YIELD = form(writeYieldView);

/** What is wrong with it the reply hears. @throws RangeError when it is malformed */
export function askLeaders(
  leaders: Leaders,
  call: Call,
  { check, audit, principal }: Asker,
  served: ServedCall,
): Waiting {
  switch (call.$case) {
    case 'stand':
      return asked(served, STAND, check, readStand(call.value, check), (request) => leaders.stand(request, served));
    case 'await':
      return asked(served, AWAIT, check, readAwaitLeader(call.value, check), (request) =>
        leaders.awaitLeader(request, served),
      );
    case 'report':
      return done(served, REPORT, check, readReport(call.value, check), (request) => leaders.report(request, served));
    case 'withdraw':
      return done(served, WITHDRAW, check, readWithdraw(call.value, check), (request) =>
        leaders.withdraw(request, served),
      );
    case 'yield':
      return done(served, YIELD, check, groupName(call.value, check), (group) =>
        leaders.yieldLeader(group, audit.yields(principal, group, served)),
      );
  }
}

function asked<R>(served: ServedCall, its: TellForm, check: Check, request: R, ask: (request: R) => Waiting): Waiting {
  served.form = its;
  const wrong = check.take();
  if (wrong === undefined) return ask(request);
  served.refuse(wrong);
  return undefined;
}

/** The call does not wait. */
function done<R>(served: ServedCall, its: TellForm, check: Check, request: R, ask: (request: R) => void): undefined {
  asked(served, its, check, request, (right) => {
    ask(right);
    return undefined;
  });
}

function form<A>(write: (out: WireWriter, answer: A) => void, canBeUndone = false): TellForm {
  return {
    entry: TELL.leaderReplies,
    // Each answer is that of the call whose form this is.
    write: (out, answer) => write(out, answer as A),
    gives: () => undefined,
    canBeUndone,
  };
}
