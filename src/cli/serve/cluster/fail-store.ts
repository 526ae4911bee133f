/** What is wrong with store or registry is for people to put right: one message, without a stack, never with a password. */
import { startText } from '../../../cluster/store/partition/failures.js';
import { JournalError } from '../../../local/journal/journal.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';

export function failStore(setting: 'store' | 'registry'): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof JournalError)) throw error;
    throw new CommandFailure(`${setting}: ${startText(error)}`, EXIT.failure);
  };
}
