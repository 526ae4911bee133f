/** Streams (and calls that wait) that are open and would never end by themselves: a server that shuts down waits for them for ever. */
import type { CallStatus } from './status.js';

export interface Endable {
  /** @param why unset: the server stops */
  end(why?: CallStatus): void;
}

/** What of grpc-js's streams is needed to end one. */
interface EndableCall {
  end(): unknown;
  emit(event: 'error', status: CallStatus): unknown;
}

export class OpenStreams {
  readonly #open = new Map<Endable, object>();

  /**
   * @param call whose stream it is
   * @returns takes it out again
   */
  add(call: object, stream: Endable): () => void {
    this.#open.set(stream, call);
    return () => void this.#open.delete(stream);
  }

  /** A stream that nothing stands behind. */
  addCall(call: EndableCall): () => void {
    return this.add(call, { end: (why) => void (why === undefined ? call.end() : call.emit('error', why)) });
  }

  endAll(): void {
    for (const stream of this.#open.keys()) stream.end();
    this.#open.clear();
  }

  /** @param whyOf unset: this call's stream goes on */
  endThose(whyOf: (call: object) => CallStatus | undefined): void {
    for (const [stream, call] of this.#open) {
      const why = whyOf(call);
      if (why === undefined) continue;
      this.#open.delete(stream);
      stream.end(why);
    }
  }
}
