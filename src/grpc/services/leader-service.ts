/** LeaderService: who leads a group. */
import { randomUUID } from 'node:crypto';
import type { GroupView, Reply, Result, SessionStamp, YieldView } from '../../coordinator.js';
import { type HandlerContext, internalError, replied } from '../call/handler.js';
import type { OpenStreams } from '../call/streams.js';
import { groupName, leaderResponse, yieldResponse } from '../convert/leaders.js';
import { steadyNow } from '../convert/steady-time.js';
import { type LeaderServiceServer, LeaderServiceService } from '../gen/keyturn/v1/leader.js';
import { LeadStream } from './lead-stream.js';
import { LeadTurns } from './lead-turns.js';
import { type CarriedByBytes, personCall } from './person-call.js';
import { watchLeader } from './watch-leader.js';
import { withReason } from './with-reason.js';

type Handlers = Pick<LeaderServiceServer, 'lead' | 'getLeader' | 'watchLeader' | 'yieldLeader'>;

export function leaderService(context: HandlerContext, streams: OpenStreams): Handlers {
  const nextStamp = stamps();
  const turns = new LeadTurns();
  return {
    lead: (call) => {
      try {
        const stream = new LeadStream(context, context.portOf(call).leaders, call, nextStamp, turns);
        call.once('cancelled', streams.add(call, stream));
        stream.start();
      } catch (error) {
        call.emit('error', internalError(context, call.getPath(), error));
      }
    },
    getLeader: replied(
      context,
      groupName,
      (port, group, reply) => port.leaders.awaitLeader({ group, knows: undefined }, reply),
      leaderResponse,
    ),
    watchLeader: watchLeader(context, streams),
    yieldLeader: replied(
      context,
      withReason((message, check, caller) => ({ group: groupName(message, check), peer: caller.getPeer() })),
      (port, { group, peer }, reply: Reply<YieldView>) => {
        port.leaders.yieldLeader(group, {
          answer: (view) => {
            const { asked } = view;
            if (asked !== undefined) context.log.info({ group, peer, ...asked }, 'a leader was asked to hand over');
            return reply.answer(view);
          },
          refuse: (refusal) => reply.refuse(refusal),
        });
        return undefined;
      },
      yieldResponse,
    ),
  };
}

/** Those that have one answer, for who is not on gRPC. */
export const LEADER_CALLS: readonly CarriedByBytes[] = [
  personCall(
    LeaderServiceService.getLeader,
    groupName,
    (port, group) => answered<GroupView>((reply) => port.leaders.awaitLeader({ group, knows: undefined }, reply)),
    leaderResponse,
  ),
  personCall(
    LeaderServiceService.yieldLeader,
    withReason(groupName),
    (port, group) => answered<YieldView>((reply) => port.leaders.yieldLeader(group, reply)),
    yieldResponse,
  ),
];

function answered<A>(ask: (reply: Reply<A>) => unknown): Promise<Result<A>> {
  return new Promise((resolve) => {
    ask({
      answer(value) {
        resolve({ ok: true, value });
        return true;
      },
      refuse: (refusal) => resolve({ ok: false, refusal }),
    });
  });
}

/** Each newer than the one before, and its own. */
function stamps(): () => SessionStamp {
  const process = randomUUID();
  let last = 0;
  return () => {
    last = Math.max(last + 1, Math.floor(steadyNow()));
    return { at: last, by: `${process}-${last}` };
  };
}
