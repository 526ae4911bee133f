import type { Caller } from '../convert/deadline.js';
import type { SessionCall } from './stream-call.js';

/** The caller of the commands of a stream, and its deadline. */
export class StreamCaller implements Caller {
  /** Its commands are no calls of grpc-js, so none of them has a deadline that could end late. */
  readonly waiting = 0;
  /** What the hello said; until then, and without one, the peer. */
  consumerId: string | undefined = undefined;
  #deadline: Date | number | undefined = undefined;

  constructor(private readonly call: SessionCall) {}

  getPeer(): string {
    this.consumerId ??= this.call.getPeer();
    return this.consumerId;
  }

  getDeadline(): Date | number {
    this.#deadline ??= this.call.getDeadline();
    return this.#deadline;
  }
}
