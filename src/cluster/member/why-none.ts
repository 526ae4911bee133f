import type { Ownership } from '../partitions/ownership.js';
import type { Standing } from '../partitions/restore-plan.js';

interface Facts {
  readonly at: Ownership['at'];
  /** What went wrong with the partition here. */
  readonly problem: string | undefined;
  /** What is wrong with registry or store. */
  readonly trouble: string | undefined;
  /** For people, who holds the guard. */
  readonly owner: string | undefined;
  readonly standing: Standing;
  /** The guard was there, and is not any more. */
  readonly isLost: boolean;
  /** This sidecar has all of it in memory. */
  readonly isKept: boolean;
  /** The store failed over just now, or this member has just begun. */
  readonly isQuiet: boolean;
}

const HERE: Readonly<Record<Exclude<Ownership['at'], 'free' | 'open'>, string>> = {
  claiming: 'this sidecar is claiming it',
  loading: 'this sidecar is loading it',
  handing_over: 'this sidecar is handing it over',
  closed: 'this sidecar waits until it reaches registry and store again',
  reclaiming: 'this sidecar is claiming it again',
  dropping: 'this sidecar has given it up, and the next home is not known yet',
};

const EMPTIED: Readonly<Record<Exclude<Standing, 'own'>, string>> = {
  none: 'the store was emptied (FLUSHALL), or is another one: the record of the cluster is gone, so nobody claims anything',
  other:
    'the store was emptied, and another cluster began there, so none of ours claims anything; end the sidecars of that one first',
};
const GONE = 'its guard is gone from the store, so nobody claims it';
const TO_DO =
  'bring back what the store had, or "keyturn cluster restore all" writes back what live members keep in memory: end none of them';

/** For people: what a partition without a home waits for, and what to look at. */
export function whyNone(partition: number, facts: Facts): string {
  const { trouble, problem } = facts;
  const wrong = trouble ?? problem;
  return `partition ${partition} has no home: ${why(facts)}${wrong === undefined ? '' : `; ${wrong}`}`;
}

function why({ at, owner, standing, isLost, isKept, isQuiet }: Facts): string {
  const isMissed = standing !== 'own' || isLost;
  if (isMissed && at !== 'claiming' && at !== 'loading') {
    const kept = isKept ? 'this sidecar keeps it in memory' : 'this sidecar has nothing of it in memory';
    return `${standing === 'own' ? GONE : EMPTIED[standing]}; ${kept}; ${TO_DO}`;
  }
  return at === 'free' || at === 'open' ? elsewhere(owner, isQuiet) : HERE[at];
}

function elsewhere(owner: string | undefined, isQuiet: boolean): string {
  if (isQuiet) return 'whoever was its home may come back until the time of a session has passed';
  if (owner !== undefined)
    return `it is that of ${owner}, which does not answer; another one takes it when its session is over`;
  return 'a member is about to claim it; if none does, look at "keyturn cluster"';
}
