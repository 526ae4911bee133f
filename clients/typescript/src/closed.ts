import { KeyturnError } from './errors.js';

/** What is asked of a client that was closed, or was open when it was. */
export function clientClosed(): KeyturnError {
  return new KeyturnError('the client was closed', 'CANCELLED');
}
