/** Errors of a cluster's store: what is wrong with which partition, and what to do. */
import { JournalError, type LocalProblem, type StoreProblem } from '../../../local/journal/journal.js';

type Problem = StoreProblem | Extract<LocalProblem, 'full' | 'io' | 'damaged'>;

const TO_DO: Readonly<Record<Problem, string>> = {
  full: 'give it more room (maxmemory of a Redis, the disk of a PostgreSQL), or take something else out of it; it goes on by itself then',
  io: 'look at the store and at the network to it; what was answered is there, and it goes on by itself',
  damaged: 'restore a backup of the store; nothing was changed',
  fenced: 'nothing has to be done: another sidecar is the home of this partition',
  fell_back: 'the home writes the partition anew from its memory; look at the replication of the store',
  no_guard:
    'look whether it was emptied (FLUSHALL) or whether "store" names another server or database; bring back what it had, or "keyturn cluster restore all" writes back what live sidecars keep in memory: end none of them',
  unfit: 'change that there, or name another store: --store, KEYTURN_STORE or store',
};

export function storeError(problem: Problem, what: string, cause?: unknown): JournalError {
  return new JournalError(problem, `${what}; ${TO_DO[problem]}`, cause === undefined ? {} : { cause });
}

/** Who begins waits for nothing: it ends. */
const AT_START = 'nothing was changed; start it again then';

/** The text of an error that ended the start. */
export function startText({ message, problem }: JournalError): string {
  const toDo = problem === 'io' || problem === 'full' ? TO_DO[problem] : undefined;
  if (toDo === undefined || !message.endsWith(toDo)) return message;
  const [first = toDo] = toDo.split('; ');
  return `${message.slice(0, -toDo.length)}${first}; ${AT_START}`;
}
