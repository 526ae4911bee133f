/** What a stream of a worker is given: its call, what it shares with the other streams, and what it calls at its end. */
import type { HandlerContext } from '../call/handler.js';
import type { CallStatus } from '../call/status.js';
import type { Check } from '../convert/validate.js';
import type { FastDecoder } from './codec/fast-decoder.js';
import type { Scheduler } from './flow.js';

/** What of a grpc-js stream a session needs. Its messages are bytes. */
export interface SessionCall {
  getPeer(): string;
  getDeadline(): Date | number;
  getPath(): string;
  on(event: 'data', listener: (message: Buffer) => void): unknown;
  on(event: 'end' | 'cancelled', listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  write(message: Buffer, taken: () => void): unknown;
  end(): unknown;
  emit(event: 'error', status: CallStatus): unknown;
}

export interface SessionContext extends Omit<HandlerContext, 'portOf'>, Scheduler {
  /** Of all streams: nothing stays in it from one request to the next. */
  readonly check: Check;
  /** The same goes for it. */
  readonly decoder: FastDecoder;
}

export interface SessionHooks {
  /** Breaks the stream off, whatever its client does. */
  reset(): void;
  /** It is over. */
  over(): void;
}
