/** What is counted of a group, read when it is asked for. */
import type { GroupNumbers, GroupStats } from '../contract/leader.js';
import type { LeaderGroup } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { Histogram, SECONDS } from '../structures/histogram.js';

const NEVER = new Histogram(SECONDS);

/** Holds on to its group: the last counts of one that is forgotten can still be read. */
class LiveNumbers implements GroupNumbers {
  constructor(
    private readonly group: LeaderGroup,
    private readonly groups: ReadonlyMap<string, LeaderGroup>,
    private readonly clock: () => number,
  ) {}

  get name(): string {
    return this.group.name;
  }

  /** By name: a group that was forgotten and made anew has this name too. */
  get isGone(): boolean {
    return !this.groups.has(this.group.name);
  }

  stats(): GroupStats {
    const { handedOver, lost, inaugurationsFailed, without = NEVER, candidates } = this.group;
    const terms = { handed_over: handedOver, lost };
    const vacant = vacantFor(this.group, this.clock());
    return { terms, inaugurationsFailed, without, candidates: candidates.size, vacant };
  }
}

/** Of those that were there when it began and are still. @param clock the same one each time */
export function* groupNumbers(
  { leaders: { groups } }: CoreState,
  clock: () => number,
): Generator<GroupNumbers, undefined> {
  for (const group of [...groups.values()]) {
    if (groups.get(group.name) !== group) continue;
    group.numbers ??= new LiveNumbers(group, groups, clock);
    yield group.numbers;
  }
}

/** Somebody was inaugurated. */
export function countInauguration(group: LeaderGroup, now: number): void {
  if (group.predecessor.how === 'none') return;
  group.without ??= new Histogram(SECONDS);
  group.without.add(Math.max(0, now - group.livedAt) / 1_000);
}

/** Who handed over and left nobody behind has stopped in order: nobody is missed. */
function vacantFor({ term, candidates, predecessor, livedAt }: LeaderGroup, now: number): number | undefined {
  if (term?.worked === true) return undefined;
  if (term === undefined && candidates.size === 0 && predecessor.how !== 'lost') return undefined;
  return Math.max(0, now - livedAt);
}
