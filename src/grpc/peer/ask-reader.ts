/** What a gateway asks, read from its entries. */
import type { SessionStamp, TurnRef } from '../../coordinator.js';
import type { Caller } from '../convert/deadline.js';
import { acquireRequest, enQueueRequest } from '../convert/requests.js';
import type { Check } from '../convert/validate.js';
import { DeliverCall, LeaderCall } from '../gen/keyturn/peer/v1/peer.js';
import * as wire from '../gen/keyturn/v1/coordinator.js';
import type { Command, FastDecoder } from '../session/codec/fast-decoder.js';
import { type Asked, kindOf } from '../session/commands.js';
import { readTurnRef } from './codec/answers.js';
import { CALL } from './codec/entries.js';
import type { WireReader } from './codec/wire-reader.js';
import { MOST_PRINCIPAL } from './limits.js';

export interface CallHead {
  session: number;
  partition: number;
  /** Unset: no bound. */
  maxWait: number | undefined;
  /** An Acquire asks for the turns of its ticket alone. */
  takesNone: boolean;
  principal: string;
  /** Of a hello. */
  stamp: SessionStamp | undefined;
  command: Command | undefined;
  /** In its place. */
  leader: LeaderCall | undefined;
  /** In its place. */
  deliver:
    | { readonly id: number; readonly call: { readonly $case: 'deliver'; readonly value: DeliverCall } }
    | undefined;
}

/** Reads a Call. What is returned is used again for the next one. @throws Error when it is malformed */
export class CallReader {
  readonly #head: CallHead = {
    session: 0,
    partition: 0,
    maxWait: undefined,
    takesNone: false,
    principal: '',
    stamp: undefined,
    command: undefined,
    leader: undefined,
    deliver: undefined,
  };

  constructor(private readonly decoder: FastDecoder) {}

  read(from: WireReader): CallHead {
    const head = this.#head;
    head.session = 0;
    head.partition = 0;
    head.maxWait = undefined;
    head.takesNone = false;
    head.principal = '';
    head.stamp = undefined;
    let stampAt = 0;
    head.command = undefined;
    head.leader = undefined;
    head.deliver = undefined;
    const outer = from.enter();
    for (let field = from.field(); field !== 0; field = from.field()) {
      if (field === CALL.session) head.session = from.number();
      else if (field === CALL.partition) head.partition = from.number();
      else if (field === CALL.command) head.command = this.#command(from);
      else if (field === CALL.maxWait) head.maxWait = boundOf(from.number());
      else if (field === CALL.takesNone) head.takesNone = from.flag();
      else if (field === CALL.principal) head.principal = principalOf(from);
      else if (field === CALL.stampAt) stampAt = from.number();
      else if (field === CALL.leader) head.leader = LeaderCall.decode(from.window());
      else if (field === CALL.deliver) head.deliver = deliverOf(DeliverCall.decode(from.window()));
      else if (field === CALL.stampBy) head.stamp = { at: stampAt, by: from.text() };
      else from.skip();
    }
    from.leave(outer);
    return head;
  }

  #command(from: WireReader): Command {
    const end = from.end();
    const command =
      this.decoder.read(from.bytes, from.at, end) ?? wire.Command.decode(from.bytes.subarray(from.at, end));
    from.skipTo(end);
    return command;
  }
}

/** A gateway has looked at deadlines and named who asks. */
export const NO_CALLER: Caller = { getPeer: () => '', getDeadline: () => Number.POSITIVE_INFINITY, waiting: 0 };

/** The request as the port has it: with what stands beside its message, which cannot say it. */
export function readRequest(call: Asked, head: CallHead, check: Check): unknown {
  const request = requestOf(call, head, check);
  return head.principal === '' ? request : inName(call, request, head.principal);
}

function requestOf(call: Asked, { maxWait, takesNone }: CallHead, check: Check): unknown {
  if (call.$case === 'enqueue' && maxWait !== undefined)
    return { ...enQueueRequest(call.value, check, NO_CALLER), maxWait };
  if (call.$case === 'acquire' && takesNone) return { ...acquireRequest(call.value, check, NO_CALLER), maxTurns: 0 };
  return kindOf(call).read(call.value, check, NO_CALLER);
}

/** What brings turns or items is charged to the principal, as the gateway has found it out. */
function inName({ $case }: Asked, request: unknown, principal: string): unknown {
  if (typeof request !== 'object' || request === null) return request;
  if ($case !== 'enqueue' && $case !== 'submit' && $case !== 'acquire' && $case !== 'ack') return request;
  if (!('next' in request) || typeof request.next !== 'object') return { ...request, principal };
  return { ...request, principal, next: { ...request.next, principal } };
}

function deliverOf(value: DeliverCall): NonNullable<CallHead['deliver']> {
  return { id: value.id, call: { $case: 'deliver', value } };
}

/** @throws RangeError of one that no gateway sends */
function principalOf(from: WireReader): string {
  const name = from.text();
  if (Buffer.byteLength(name) <= MOST_PRINCIPAL) return name;
  throw new RangeError(`a name of ${Buffer.byteLength(name)} bytes of who asks; allowed: ${MOST_PRINCIPAL}`);
}

function boundOf(number: number): number | undefined {
  return number === 0 ? undefined : number - 1;
}

interface Numbers {
  readonly first: number;
  readonly second: number;
  readonly third: number;
}

/** An entry of up to three numbers. */
export function readNumbers(from: WireReader): Numbers {
  const outer = from.enter();
  let first = 0;
  let second = 0;
  let third = 0;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) first = from.number();
    else if (field === 2) second = from.number();
    else if (field === 3) third = from.number();
    else from.skip();
  }
  from.leave(outer);
  return { first, second, third };
}

export interface UndeliverableTold {
  readonly session: number;
  readonly partition: number;
  readonly turns: readonly TurnRef[];
  readonly unwanted: boolean;
}

export function readUndeliverable(from: WireReader): UndeliverableTold {
  const outer = from.enter();
  const turns: TurnRef[] = [];
  let session = 0;
  let partition = 0;
  let unwanted = false;
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) session = from.number();
    else if (field === 2) partition = from.number();
    else if (field === 3) turns.push(readTurnRef(from));
    else if (field === 4) unwanted = from.flag();
    else from.skip();
  }
  from.leave(outer);
  return { session, partition, turns, unwanted };
}

const NOTHING = Buffer.alloc(0);

/** An AdminCall. */
export function readAdminCall(from: WireReader): {
  readonly id: number;
  readonly partition: number;
  readonly request: Buffer;
  readonly principal: string;
} {
  const outer = from.enter();
  let id = 0;
  let partition = 0;
  let request: Buffer = NOTHING;
  let principal = '';
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) id = from.number();
    else if (field === 2) partition = from.number();
    else if (field === 3) request = from.window();
    else if (field === 4) principal = principalOf(from);
    else from.skip();
  }
  from.leave(outer);
  return { id, partition, request, principal };
}

interface WatchAsked {
  readonly id: number;
  readonly partition: number;
  readonly queue: string | undefined;
  readonly key: string | undefined;
  readonly principal: string;
}

export function readWatch(from: WireReader): WatchAsked {
  const outer = from.enter();
  let id = 0;
  let partition = 0;
  let queue: string | undefined;
  let key: string | undefined;
  let principal = '';
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === 1) id = from.number();
    else if (field === 2) partition = from.number();
    else if (field === 3) queue = from.text();
    else if (field === 4) key = from.text();
    else if (field === 5) principal = principalOf(from);
    else from.skip();
  }
  from.leave(outer);
  return { id, partition, queue, key, principal };
}
