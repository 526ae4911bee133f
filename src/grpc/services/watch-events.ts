/** WatchEvents: from the port's bounded buffer to a stream, no faster than its reader reads. */
import { type handleServerStreamingCall, Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { CoordinatorEvent, Refusal, Result, Watch, Watcher } from '../../coordinator.js';
import { type HandlerContext, internalError, readRequest, wasted } from '../call/handler.js';
import { statusOf } from '../call/status.js';
import type { OpenStreams } from '../call/streams.js';
import { eventsResponse, watchRequest } from '../convert/admin.js';
import type { WatchEventsRequest, WatchEventsResponse } from '../gen/keyturn/v1/admin.js';

/** About 2 KiB each at most, so that a message stays well below the 4 MiB that clients accept. */
const EVENTS_PER_MESSAGE = 500;

type WatchCall = ServerWritableStream<WatchEventsRequest, WatchEventsResponse>;

export function watchEvents(
  context: HandlerContext,
  streams: OpenStreams,
): handleServerStreamingCall<WatchEventsRequest, WatchEventsResponse> {
  return (call) => {
    try {
      const pump = new Pump(context, call);
      const result = startWatch(context, call, pump);
      if (!result.ok) {
        call.emit('error', statusOf(result.refusal));
        return;
      }
      // The headers tell the reader that nothing from now on escapes it.
      call.sendMetadata(new Metadata());
      pump.start(result.value);
      const remove = streams.addCall(call);
      call.once('cancelled', () => {
        remove();
        result.value.stop();
      });
    } catch (error) {
      call.emit('error', internalError(context, call.getPath(), error));
    }
  };
}

function startWatch(context: HandlerContext, call: WatchCall, watcher: Watcher): Result<Watch> {
  const caller = { getPeer: () => call.getPeer(), getDeadline: () => call.getDeadline(), waiting: 0 };
  const request = readRequest(context, caller, call.request, watchRequest);
  if (!request.ok) return { ok: false, refusal: wasted(context.portOf(call), request.refusal) };
  return context.portOf(call).admin.watch(request.value.queue, request.value.key, watcher);
}

class Pump implements Watcher {
  #watch: Watch | undefined;
  #clogged = false;

  constructor(
    private readonly context: HandlerContext,
    private readonly call: WatchCall,
  ) {}

  start(watch: Watch): void {
    this.#watch = watch;
    this.#flow();
  }

  wake(): void {
    this.#flow();
  }

  end(why?: Refusal): void {
    if (why === undefined) this.call.end();
    else this.call.emit('error', statusOf(why));
  }

  /** Past back-pressure the rest stays in the port's buffer, which is bounded and counts what it drops. */
  #flow(): void {
    if (this.#watch === undefined) return;
    try {
      while (!this.#clogged && !this.call.cancelled && !this.call.writableEnded) {
        const { events, missed } = this.#watch.take();
        if (events.length === 0 && missed === 0) return;
        this.#send(events, missed);
      }
    } catch (error) {
      this.call.emit('error', internalError(this.context, this.call.getPath(), error));
    }
  }

  #send(events: readonly CoordinatorEvent[], missed: number): void {
    let flows = this.call.write(eventsResponse(events.slice(0, EVENTS_PER_MESSAGE), missed));
    for (let from = EVENTS_PER_MESSAGE; from < events.length; from += EVENTS_PER_MESSAGE) {
      flows = this.call.write(eventsResponse(events.slice(from, from + EVENTS_PER_MESSAGE), 0));
    }
    if (flows) return;
    this.#clogged = true;
    this.call.once('drain', () => {
      this.#clogged = false;
      this.#flow();
    });
  }
}
