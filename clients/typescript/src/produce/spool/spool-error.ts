/** What can go wrong with a spool, with the file it concerns. */
import { messageOf } from '../../words/failure.js';

/**
 * - `in_use`: another process, or another producer of this one, has the directory;
 * - `other_queue`: the directory has items of another queue;
 * - `damaged`: a segment is not what was written; nothing was skipped;
 * - `torn`: the last record was cut off when the process or the machine ended; it was never confirmed, and was cut away;
 * - `too_large`: the item does not fit into the spool, empty or not;
 * - `io`: the file system failed.
 */
export type SpoolProblem = 'in_use' | 'other_queue' | 'damaged' | 'torn' | 'too_large' | 'io';

export class SpoolError extends Error {
  override readonly name = 'SpoolError';

  constructor(
    readonly problem: SpoolProblem,
    readonly file: string,
    what: string,
    cause?: unknown,
  ) {
    const because = cause === undefined ? '' : `: ${messageOf(cause)}`;
    super(`${file}: ${what}${because}`, cause === undefined ? undefined : { cause });
  }
}
