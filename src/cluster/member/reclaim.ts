/**
 * A home that was closed claims its guard from itself. If nobody was there in between, its core is still the truth, and goes on.
 */
import type { OwnershipEvent } from '../partitions/ownership.js';
import type { Claim, Claimed, Guard, NotClaimed, PartitionStore } from '../store/cluster-store.js';

/** What the guard has to be. */
export type Wanted = Pick<Claim, 'expected' | 'expectedSeq'>;

type Reclaimed = Extract<OwnershipEvent, { readonly kind: 'reclaimed' | 'reclaim_lost' | 'reclaim_unknown' }>;

/** How often a claim of one's own may be found whose answer was lost. */
const MOST_TRIES = 3;

/** @throws JournalError: nothing is known */
export async function reclaim(
  store: PartitionStore,
  claim: (wanted: Wanted) => Promise<Claimed | NotClaimed>,
  own: { isOwn(member: string): boolean },
): Promise<Reclaimed> {
  // First what became of a batch without an answer, under the owner with which it was sent.
  await store.settle();
  const { seq } = store.guard;
  let expected = store.guard.owner;
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const answer = await claim({ expected, expectedSeq: seq });
    if (answer.claimed) {
      store.renewed(answer);
      return { kind: 'reclaimed' };
    }
    if (!isFromHere(answer.guard, store.guard, own)) return notHere(answer.guard, store);
    expected = answer.guard.owner;
  }
  return { kind: 'reclaim_unknown' };
}

/** A claim of this process from this very guard, whose answer was lost: nobody else was there. */
function isFromHere(found: Guard, mine: Guard, own: { isOwn(member: string): boolean }): boolean {
  return found.owner !== '' && found.epoch > mine.epoch && found.seq === mine.seq && own.isOwn(found.member);
}

async function notHere(found: Guard, store: PartitionStore): Promise<Reclaimed> {
  const { owner, epoch } = store.guard;
  const isOther = found.owner !== owner && found.epoch >= epoch;
  try {
    // A store that fell back is repaired, and claimed with the next look.
    await store.assert();
  } catch (error) {
    // Unless the store was emptied, and somebody began anew there: that is no successor.
    if (!isOther || !store.isFenced) throw error;
    return { kind: 'reclaim_lost' };
  }
  return { kind: 'reclaim_unknown' };
}
