/** WatchEvents for who has messages as bytes only: what is asked, and what is told. */
import type { CoordinatorEvent, Result } from '../../coordinator.js';
import { type HandlerContext, readRequest } from '../call/handler.js';
import { eventsResponse, watchRequest } from '../convert/admin.js';
import type { Caller } from '../convert/deadline.js';
import { AdminServiceService } from '../gen/keyturn/v1/admin.js';

export const { path: WATCH_EVENTS } = AdminServiceService.watchEvents;

type Wanted = ReturnType<typeof watchRequest>;

export function watchedOf(bytes: Uint8Array, limits: HandlerContext['limits'], caller: Caller): Result<Wanted> {
  const message = AdminServiceService.watchEvents.requestDeserialize(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  );
  return readRequest({ limits }, caller, message, watchRequest);
}

export function eventsBytes(events: readonly CoordinatorEvent[], missed: number): Uint8Array {
  return AdminServiceService.watchEvents.responseSerialize(eventsResponse(events, missed));
}
