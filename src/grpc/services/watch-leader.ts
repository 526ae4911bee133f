/** WatchLeader: who leads, now and whenever that changes, no faster than its reader reads. */
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import {
  type GroupView,
  type LeaderKnows,
  type Leaders,
  leaderKnowsOf,
  type Pending,
  type Refusal,
} from '../../coordinator.js';
import { type HandlerContext, internalError, readRequest, wasted } from '../call/handler.js';
import { statusOf } from '../call/status.js';
import type { OpenStreams } from '../call/streams.js';
import { groupName, leaderResponse } from '../convert/leaders.js';
import type { WatchLeaderRequest, WatchLeaderResponse } from '../gen/keyturn/v1/leader.js';

type WatchCall = ServerWritableStream<WatchLeaderRequest, WatchLeaderResponse>;

/** Answered at once: whatever leads is news to one who knows that. */
const KNOWS_NOTHING: LeaderKnows = { term: -1, phase: undefined };

export function watchLeader(
  context: HandlerContext,
  streams: OpenStreams,
): handleServerStreamingCall<WatchLeaderRequest, WatchLeaderResponse> {
  return (call) => {
    try {
      const caller = { getPeer: () => call.getPeer(), getDeadline: () => call.getDeadline(), waiting: 0 };
      const request = readRequest(context, caller, call.request, groupName);
      if (!request.ok) return void call.emit('error', statusOf(wasted(context.portOf(call), request.refusal)));
      const pump = new Pump(context.portOf(call).leaders, request.value, call);
      const remove = streams.addCall(call);
      call.once('cancelled', () => {
        remove();
        pump.stop();
      });
      pump.ask();
    } catch (error) {
      call.emit('error', internalError(context, call.getPath(), error));
    }
  };
}

/** Its home, or the store, is away for a while. */
function mayPass(refusal: Refusal): refusal is Extract<Refusal, { kind: 'no_home' | 'store_unavailable' }> {
  return refusal.kind === 'no_home' || refusal.kind === 'store_unavailable';
}

class Pump {
  #knows = KNOWS_NOTHING;
  #pending: Pending | undefined;
  #later: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    private readonly leaders: Leaders,
    private readonly group: string,
    private readonly call: WatchCall,
  ) {}

  ask(): void {
    let isAnswered = false;
    const waiting = this.leaders.awaitLeader(
      { group: this.group, knows: this.#knows },
      {
        answer: (view) => {
          isAnswered = true;
          return this.#tell(view);
        },
        refuse: (refusal) => {
          isAnswered = true;
          this.#refused(refusal);
        },
      },
    );
    if (!isAnswered) this.#pending = waiting;
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#later);
    this.#pending?.cancel();
  }

  #tell(view: GroupView): boolean {
    if (this.#isOver) return false;
    this.#pending = undefined;
    this.#knows = leaderKnowsOf(view);
    if (this.call.write({ now: leaderResponse(view) })) this.ask();
    else this.call.once('drain', () => this.#isOver || this.ask());
    return true;
  }

  #refused(refusal: Refusal): void {
    if (this.#isOver) return;
    // Who was told who leads is told of the next one, whatever comes between.
    if (this.#knows !== KNOWS_NOTHING && mayPass(refusal)) {
      this.#later = setTimeout(() => this.ask(), refusal.retryAfter);
      return;
    }
    this.#isOver = true;
    this.call.emit('error', statusOf(refusal));
  }
}
