/** The fields of what travels on a link. `peer.proto` says what they mean; what is not in hot use is written here. */
import type { TurnRef } from '../../../coordinator.js';
import type { WireWriter } from '../../session/codec/wire-writer.js';
import { writeTurnRef } from './requests.js';

/** Of a LinkRequest. */
export const ASK = {
  calls: 5,
  opens: 6,
  closes: 7,
  cancels: 8,
  undeliverable: 9,
  adminCalls: 10,
  watches: 11,
  watchEnds: 12,
  handedOver: 14,
} as const;

/** Of a LinkResponse. */
export const TELL = {
  replies: 5,
  refused: 6,
  notices: 7,
  replaced: 8,
  sessionsRefused: 9,
  adminAnswers: 10,
  events: 11,
  watchEnds: 12,
  leaderReplies: 14,
} as const;

/** Of a Call. */
export const CALL = {
  session: 1,
  partition: 2,
  maxWait: 3,
  principal: 4,
  command: 5,
  stampAt: 6,
  stampBy: 7,
  leader: 8,
  deliver: 9,
  takesNone: 10,
} as const;

/** An entry of one or two numbers. */
export function writeNumbers(out: WireWriter, field: number, first: number, second = 0, third = 0): void {
  const start = out.open(field);
  out.number(1, first);
  out.number(2, second);
  out.number(3, third);
  out.close(start);
}

/** An entry of a number and bytes, and perhaps a number more. */
export function writeBytes(out: WireWriter, field: number, id: number, bytes: Uint8Array, more = 0): void {
  const start = out.open(field, bytes.length);
  out.number(1, id);
  out.bytes(2, bytes);
  out.number(3, more);
  out.close(start, bytes.length);
}

export function writeAdminCall(
  out: WireWriter,
  {
    id,
    partition,
    request,
    principal,
  }: { readonly id: number; readonly partition: number; readonly request: Uint8Array; readonly principal: string },
): void {
  const start = out.open(ASK.adminCalls, request.length);
  out.number(1, id);
  out.number(2, partition);
  out.bytes(3, request);
  out.text(4, principal);
  out.close(start, request.length);
}

export function writeWatch(
  out: WireWriter,
  id: number,
  partition: number,
  {
    queue,
    key,
    principal,
  }: { readonly queue: string | undefined; readonly key: string | undefined; readonly principal: string },
): void {
  const start = out.open(ASK.watches);
  out.number(1, id);
  out.number(2, partition);
  // An empty one is not the same as none.
  if (queue !== undefined) out.message(3, Buffer.from(queue));
  if (key !== undefined) out.message(4, Buffer.from(key));
  out.text(5, principal);
  out.close(start);
}

export function writeUndeliverable(
  out: WireWriter,
  session: number,
  partition: number,
  turns: readonly TurnRef[],
  unwanted: boolean,
): void {
  const start = out.open(ASK.undeliverable);
  out.number(1, session);
  out.number(2, partition);
  for (const turn of turns) writeTurnRef(out, 3, turn);
  out.flag(4, unwanted);
  out.close(start);
}
