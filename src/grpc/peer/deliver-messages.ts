/** What one partition brings to another, between sidecars: as the one writes it and reads the answer, and as the other reads and answers it. */
import { type Coordinator, DEFAULT_LIMITS, type DeliverAnswer, type DeliverRequest } from '../../coordinator.js';
import { readFollowUps } from '../convert/requests.js';
import { fromWireToken } from '../convert/time.js';
import { Check } from '../convert/validate.js';
import type { DeliverCall } from '../gen/keyturn/peer/v1/peer.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import { UNNAMED } from './codec/answers.js';
import { CALL, TELL } from './codec/entries.js';
import { writeDeliverRequest } from './codec/requests.js';
import type { WireReader } from './codec/wire-reader.js';
import type { Kind } from './kinds.js';
import { atHome } from './limits.js';
import type { ServedCall, TellForm } from './served-call.js';

/** Of a LeaderReply, in which it travels too: no field of a link's message is free that a byte can name. */
const DELIVERED = 7;

/** Sent again it is carried out once. */
export const DELIVER: Kind<DeliverRequest, DeliverAnswer> = {
  entry: CALL.deliver,
  outcome: DELIVERED,
  write: writeDeliverRequest,
  read: readDelivered,
  named: () => UNNAMED,
  gives: () => undefined,
  canBeUndone: false,
  isRepeatable: true,
};

function readDelivered(from: WireReader): DeliverAnswer {
  const outer = from.enter();
  let upTo = 0;
  let isElsewhere = false;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) upTo = from.number();
    else if (field === 2) isElsewhere = from.flag();
    else from.skip();
  }
  from.leave(outer);
  return { upTo, isElsewhere };
}

const FORM: TellForm = {
  entry: TELL.leaderReplies,
  // Each answer is that of the call whose form this is.
  write: (out, answer) => writeDelivered(out, answer as DeliverAnswer),
  gives: () => undefined,
  canBeUndone: false,
};

function writeDelivered(out: WireWriter, { upTo, isElsewhere }: DeliverAnswer): void {
  const start = out.open(DELIVERED);
  out.number(1, upTo);
  out.flag(2, isElsewhere);
  out.close(start);
}

/**
 * The sidecar of the Ack has looked at it, by limits that may have been larger: what it took is on disk there, and nobody can be told
 * that it is too large for this one. So the largest that any may have count, which is what two partitions of one sidecar come to.
 */
const MOST = atHome(DEFAULT_LIMITS);

/** What is wrong with it the reply hears. @returns false: it is no partition that takes any */
export function askDeliver(home: Coordinator, call: DeliverCall, served: ServedCall): boolean {
  if (home.deliver === undefined) return false;
  served.form = FORM;
  const check = new Check(MOST);
  const parcels = call.parcels.map(({ stamp, followUps, principal }) => ({
    stamp: fromWireToken(stamp),
    followUps: readFollowUps(followUps, check),
    principal: principal === '' ? undefined : principal,
  }));
  const wrong = check.take();
  if (wrong === undefined) home.deliver({ source: call.source, parcels }, served);
  else served.refuse(wrong);
  return true;
}
