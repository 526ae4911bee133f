/** Errors that a session makes itself, and which of the sidecar's are for good. */

import * as wire from '../gen/keyturn/v1/coordinator.js';
import { KeyturnError, NO_DETAILS } from '../words/errors.js';
import type { WorkerCommand } from './command.js';

/** A message of more bytes ends the stream, with everything on it. */
const LARGEST_MESSAGE = 4 * 1_048_576;
const FRAME = 64;
/** A session that is refused for one of these would be refused for ever. */
const FOR_GOOD: ReadonlySet<string> = new Set([
  'UNIMPLEMENTED',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
]);

export function isForGood({ code }: KeyturnError): boolean {
  return FOR_GOOD.has(code);
}

/** What would end the stream for everybody. Unset: it fits. */
export function tooLarge(command: WorkerCommand): KeyturnError | undefined {
  if (command.bytes <= LARGEST_MESSAGE - FRAME) return undefined;
  // The estimate is generous.
  const bytes = wire.Command.encode(command).finish().length;
  if (bytes <= LARGEST_MESSAGE - FRAME) return undefined;
  return new KeyturnError(`the call takes ${bytes} bytes; at most ${LARGEST_MESSAGE - FRAME}`, 'INVALID_ARGUMENT');
}

export function silent(): KeyturnError {
  return new KeyturnError('the sidecar does not answer', 'UNAVAILABLE');
}

/** No stream stood, and none has failed yet. */
export function unanswered(address: string): KeyturnError {
  return new KeyturnError(`cannot reach ${address}: no answer yet`, 'UNAVAILABLE');
}

/** @param failure why there is no stream, if there is none */
export function tooLate(failure: KeyturnError | undefined): KeyturnError {
  const why = failure === undefined ? '' : `: ${failure.message}`;
  const message = `no answer before the call's time-out${why}`;
  return new KeyturnError(message, 'DEADLINE_EXCEEDED', '', NO_DETAILS, failure && { cause: failure });
}
