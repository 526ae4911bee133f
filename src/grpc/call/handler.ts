/**
 * The one place that wraps handlers. Whatever a handler does, its call is answered exactly once: a throw or a rejection
 * would otherwise leave the caller hanging, or end the process.
 */
import { randomUUID } from 'node:crypto';
import type { handleUnaryCall, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { Coordinator, Limits, Pending, Refusal, Reply, Result, Turn, Waiting } from '../../coordinator.js';
import { type Caller, isOver } from '../convert/deadline.js';
import { Check } from '../convert/validate.js';
import type { Port } from './port.js';
import { type CallStatus, internalStatus, statusOf } from './status.js';
import type { OpenStreams } from './streams.js';
import { isGone, whenUnsent } from './transport.js';

/** Where the gRPC side writes what an operator should know. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What every handler needs. */
export interface HandlerContext {
  readonly coordinator: Coordinator;
  /** What this call may ask. */
  readonly portOf: (call: object) => Port;
  readonly limits: Limits;
  readonly log: Log;
  /** Counts failures of our own. */
  readonly failed?: () => void;
  /** Unary calls of CoordinatorService that wait now. */
  readonly parked: { count: number };
  /** Those of them that end when their credentials hold no more. Unset: nobody shows any. */
  readonly revocable?: OpenStreams | undefined;
}

/** Reads a request from its message; the check collects the fields that are wrong. */
export type Read<Q, R> = (message: Q, check: Check, caller: Caller) => R;

/** Adds the turns that an answer gives. */
type Gives<A> = (answer: A, turns: Turn[]) => void;

/** A call of a worker: answered through a {@link Reply}, with no promise on the way. */
export function replied<Q, R, A, M>(
  context: HandlerContext,
  read: Read<Q, R>,
  ask: (port: Port, request: R, reply: Reply<A>) => Waiting,
  write: (answer: A) => M,
  gives: Gives<A> = givesNothing,
): handleUnaryCall<Q, M> {
  return (call, callback) => {
    const reply = new UnaryReply(context, call, callback, write, gives);
    try {
      const request = readRequest(context, reply, call.request, read);
      if (!request.ok) reply.refuse(wasted(context.portOf(call), request.refusal));
      else reply.waitFor(ask(context.portOf(call), request.value, reply));
    } catch (error) {
      reply.fail(error);
    }
  };
}

/** A call of a person: the port answers with a promise. */
export function promised<Q, R, A, M>(
  context: HandlerContext,
  read: Read<Q, R>,
  ask: (port: Port, request: R) => Promise<Result<A>>,
  write: (answer: A) => M,
): handleUnaryCall<Q, M> {
  return (call, callback) => {
    const reply = new UnaryReply(context, call, callback, write, givesNothing);
    const run = async () => {
      const request = readRequest(context, reply, call.request, read);
      const port = context.portOf(call);
      const result = request.ok
        ? await ask(port, request.value)
        : { ok: false as const, refusal: wasted(port, request.refusal) };
      if (result.ok) reply.answer(result.value);
      else reply.refuse(result.refusal);
    };
    run().catch((error: unknown) => reply.fail(error));
  };
}

/** A request that is wrong counts as any other. @returns what its caller is answered */
export function wasted({ calls }: Port, wrong: Refusal): Refusal {
  return calls.wasted?.() ?? wrong;
}

export function readRequest<Q, R>(
  context: Pick<HandlerContext, 'limits'>,
  caller: Caller,
  message: Q,
  read: Read<Q, R>,
): Result<R> {
  // The client reads no answer any more, so a turn would be lost on this call.
  if (isOver(caller)) return { ok: false, refusal: { kind: 'cancelled' } };
  const check = new Check(context.limits);
  const value = read(message, check, caller);
  const refusal = check.refusal();
  return refusal === undefined ? { ok: true, value } : { ok: false, refusal };
}

/** Says what went wrong in the log, and to the caller only under which id it stands there. */
export function internalError(
  context: Pick<HandlerContext, 'log' | 'failed'>,
  method: string,
  error: unknown,
): CallStatus {
  return internalStatus(report(context, method, error));
}

/** @returns the id under which the log says it */
export function report(
  { log, failed }: Pick<HandlerContext, 'log' | 'failed'>,
  method: string,
  error: unknown,
): string {
  const id = randomUUID();
  failed?.();
  log.error({ id, method, err: error }, 'a call failed inside the sidecar');
  return id;
}

class UnaryReply<Q, A, M> implements Reply<A>, Caller {
  #open = true;
  #parked = false;
  #leave: (() => void) | undefined;

  constructor(
    private readonly context: HandlerContext,
    private readonly call: ServerUnaryCall<Q, M>,
    private readonly callback: sendUnaryData<M>,
    private readonly write: (answer: A) => M,
    private readonly gives: Gives<A>,
  ) {}

  get waiting(): number {
    return this.context.parked.count;
  }

  getPeer(): string {
    return this.call.getPeer();
  }

  getDeadline(): Date | number {
    return this.call.getDeadline();
  }

  answer(value: A): boolean {
    if (!this.#open || isGone(this.call)) return false;
    try {
      const message = this.write(value);
      this.#close();
      this.callback(null, message);
      this.#watch(value);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** A client that gives up a call in the moment of its answer has not got it: no worker would have its turns. */
  #watch(value: A): void {
    const turns: Turn[] = [];
    this.gives(value, turns);
    if (turns.length === 0) return;
    whenUnsent(this.call, () => {
      try {
        this.context.coordinator.undeliverable(turns);
      } catch (error) {
        report(this.context, this.call.getPath(), error);
      }
    });
  }

  refuse(refusal: Refusal): void {
    try {
      this.#end(statusOf(refusal));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.#end(internalError(this.context, this.call.getPath(), error));
  }

  /** @param waiting unset: the call does not wait, though its answer may still be held until the disk has it */
  waitFor(waiting: Waiting): void {
    if (!this.#open) return;
    if (waiting !== undefined) {
      this.#parked = true;
      this.context.parked.count += 1;
      this.#leave = this.context.revocable?.add(this.call, { end: (why) => this.#revoked(waiting, why) });
    }
    // grpc-js says "cancelled" after every end of a call, an answered one too.
    this.call.once('cancelled', () => this.#cancel(waiting));
  }

  #cancel(pending: Waiting): void {
    if (!this.#open) return;
    this.#close();
    try {
      pending?.cancel();
    } catch (error) {
      internalError(this.context, this.call.getPath(), error);
    }
  }

  /** What it waits for is given up, as if its caller were gone. */
  #revoked(waiting: Pending, why: CallStatus | undefined): void {
    this.#cancel(waiting);
    if (why !== undefined) this.callback(why);
  }

  #end(status: CallStatus): void {
    if (!this.#open) return;
    this.#close();
    this.callback(status);
  }

  #close(): void {
    this.#open = false;
    if (this.#parked) this.context.parked.count -= 1;
    this.#leave?.();
  }
}

function givesNothing(): void {}
