/** The little that a session needs of a network. grpc-js is one; a simulation brings its own. */

import type * as wire from '../gen/keyturn/v1/coordinator.js';
import type { KeyturnError } from '../words/errors.js';

/** What a stream tells. After `ended` nothing follows. */
export interface StreamHandlers {
  message(message: wire.SessionResponse): void;
  /** It takes messages again, after a `write` that returned false. */
  drained(): void;
  /** @param error why; unset: the other side ended it in peace */
  ended(error: KeyturnError | undefined): void;
}

export interface SessionStream {
  /** One message. False: it is taken, but no more until `drained`. */
  write(commands: readonly wire.Command[]): boolean;
  /** Nothing more will be sent. The other side answers what it has and ends the stream. */
  end(): void;
  /** Gone at once; the handlers hear nothing of it any more. */
  destroy(): void;
}

/** Never throws, and calls no handler before it has returned. */
export type OpenStream = (handlers: StreamHandlers) => SessionStream;
