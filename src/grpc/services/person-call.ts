/**
 * A call of a person, said once: what is read from its message, what is asked of the port, what is answered. gRPC carries it out,
 * and so does the console, which has no way of its own into the coordinator.
 */
import type { handleUnaryCall, MethodDefinition } from '@grpc/grpc-js';
import type { Refusal, Result } from '../../coordinator.js';
import { type HandlerContext, promised, type Read, readRequest, wasted } from '../call/handler.js';
import type { Port } from '../call/port.js';
import type { Caller } from '../convert/deadline.js';

export interface PersonCall<Q, M> extends CarriedByBytes {
  /** As a handler of gRPC. */
  handler(context: HandlerContext): handleUnaryCall<Q, M>;
}

/** The same for who has messages as bytes only. */
export interface CarriedByBytes {
  /** `/keyturn.v1.AdminService/ListQueues` */
  readonly path: string;
  /** Rejects for a failure of our own. */
  carryOut(port: Port, bytes: Uint8Array, limits: HandlerContext['limits'], caller: Caller): Promise<CarriedOut>;
}

interface CarriedOut {
  /** The messages, as the audit wants them. */
  readonly asked: unknown;
  readonly answered: unknown;
  readonly outcome:
    | { readonly ok: true; readonly bytes: Uint8Array }
    | { readonly ok: false; readonly refusal: Refusal };
}

export type Definition<Q, M> = Pick<MethodDefinition<Q, M>, 'path' | 'requestDeserialize' | 'responseSerialize'>;

export function personCall<Q, R, A, M>(
  { path, requestDeserialize, responseSerialize }: Definition<Q, M>,
  read: Read<Q, R>,
  ask: (port: Port, request: R) => Promise<Result<A>>,
  write: (answer: A) => M,
): PersonCall<Q, M> {
  return {
    path,
    handler: (context) => promised(context, read, ask, write),
    async carryOut(port, bytes, limits, caller) {
      const asked = requestDeserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      const request = readRequest({ limits }, caller, asked, read);
      const result = request.ok
        ? await ask(port, request.value)
        : { ok: false as const, refusal: wasted(port, request.refusal) };
      if (!result.ok) return { asked, answered: undefined, outcome: { ok: false, refusal: result.refusal } };
      const answered = write(result.value);
      return { asked, answered, outcome: { ok: true, bytes: responseSerialize(answered) } };
    },
  };
}
