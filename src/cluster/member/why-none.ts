import type { Ownership } from '../partitions/ownership.js';

interface Facts {
  readonly at: Ownership['at'];
  /** What went wrong with the partition here. */
  readonly problem: string | undefined;
  /** What is wrong with registry or store. */
  readonly trouble: string | undefined;
  /** For people, who holds the guard. */
  readonly owner: string | undefined;
  /** The guard was there, and is not any more. */
  readonly isLost: boolean;
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

/** For people: what a partition without a home waits for, and what to look at. */
export function whyNone(partition: number, { at, problem, trouble, owner, isLost, isQuiet }: Facts): string {
  const why = at === 'free' || at === 'open' ? elsewhere(owner, isLost, isQuiet) : HERE[at];
  const wrong = trouble ?? problem;
  return `partition ${partition} has no home: ${why}${wrong === undefined ? '' : `; ${wrong}`}`;
}

function elsewhere(owner: string | undefined, isLost: boolean, isQuiet: boolean): string {
  if (isLost)
    return 'its guard is gone from the store, so nobody claims it; bring back what the store had, or accept the loss: end all sidecars and start them again';
  if (isQuiet) return 'whoever was its home may come back until the time of a session has passed';
  if (owner !== undefined)
    return `it is that of ${owner}, which does not answer; another one takes it when its session is over`;
  return 'a member is about to claim it; if none does, look at "keyturn cluster"';
}
