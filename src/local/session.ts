import type { HelloAnswer, HelloRequest, Reply, Session } from '../coordinator.js';
import type { Stream } from '../core/core.js';
import { LocalCalls } from './calls.js';
import type { Loop } from './loop.js';

/** One stream of a worker on the embedded coordinator. */
export class LocalSession extends LocalCalls implements Session {
  readonly #stream: Stream;

  constructor(loop: Loop, stream: Stream) {
    super(loop, stream);
    this.#stream = stream;
  }

  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void {
    this.loop.core.hello(this.#stream, request, reply, this.loop.now());
    this.stepEnded();
  }

  close(): void {
    this.loop.core.closeStream(this.#stream, this.loop.now());
    this.stepEnded();
  }
}
