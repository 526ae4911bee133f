/** The numbers that stand for words on the disk. A number never changes its meaning; new words get new ones. */
import type { HandOverReason, LeaderPhase, PredecessorView } from '../../../core/contract/leader.js';
import type { DeathCause, LossCause, NackKind, Reason } from '../../../core/contract/model.js';
import type { AssignmentRow, FinishedRow, ParkRow, TicketRow, TurnRow } from '../../../core/contract/rows.js';
import { NotAValue } from './byte-reader.js';

/** Words and their numbers, both ways. Total over the words: a new one does not compile until it has a number. */
interface Words<T extends string> {
  number(word: T): number;
  /** @throws NotAValue */
  word(number: number): T;
}

function words<T extends string>(numbers: Readonly<Record<T, number>>): Words<T> {
  // What `Object.keys` says of a record is its keys.
  const all = new Map((Object.keys(numbers) as T[]).map((word) => [numbers[word], word] as const));
  return {
    number: (word) => numbers[word],
    word: (number) => {
      const word = all.get(number);
      if (word === undefined) throw new NotAValue(`a word with the number ${number}`);
      return word;
    },
  };
}

export const FINISHED_STATES = words<FinishedRow['state']>({ done: 1, superseded: 2, discarded: 3 });
export const DEATH_CAUSES = words<Exclude<DeathCause, 'max_crashes'>>({ max_attempts: 1, refused: 2, dependency: 3 });
export const REASONS = words<Reason>({ waiter_exists: 1, superseded: 2, already_done: 3, too_soon: 4 });
export const NACK_KINDS = words<NackKind>({ retry: 1, release: 2, dead_letter: 3 });
export const LOSS_CAUSES = words<Exclude<LossCause, 'settled' | 'unknown'>>({
  lease_expired: 1,
  evicted: 2,
  taken_over: 3,
});
export const CARGOES = words<AssignmentRow['kind']>({ caller: 1, items: 2, adopted: 3 });
export const TICKETS = words<TicketRow['of']>({ key: 1, dispatch: 2 });
export const HANDED = words<TurnRow['handed']>({ kept: 1, given: 2, known: 3 });
export const PARK_CAUSES = words<ParkRow['because']>({ dead_letter: 1, no_room: 2 });
export const LEADER_PHASES = words<LeaderPhase>({ inaugurating: 1, executing: 2, handing_over: 3, lost: 4 });
export const SUCCESSIONS = words<PredecessorView['how']>({ none: 1, handed_over: 2, lost: 3 });
export const HAND_OVER_REASONS = words<HandOverReason>({ yield: 1, operator: 2, drain: 3 });
