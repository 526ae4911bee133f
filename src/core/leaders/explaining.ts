/** What those who stand wait for, for people. */
import type { GroupWait } from '../contract/leader.js';
import type { Candidate, LeaderGroup, Term } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { isPresent } from './candidates.js';
import { heldBackUntil } from './holding.js';

/** @returns unset: nobody waits. Names are as their owners gave them */
export function whyNobodyElse(state: CoreState, group: LeaderGroup, now: number): GroupWait | undefined {
  const { term, candidates } = group;
  if (candidates.size === 0) return undefined;
  const { why, until } = term === undefined ? withoutTerm(state, group, now) : duringTerm(term);
  return { why, until: until === undefined ? undefined : Math.ceil(until) + state.wallOffset };
}

function duringTerm({ at, candidate: { id }, leaseEnd, deadline }: Term): GroupWait {
  switch (at) {
    case 'inaugurating':
      return { why: `${id} is being inaugurated`, until: deadline };
    case 'executing':
      return { why: `${id} leads`, until: undefined };
    case 'handing_over':
      return { why: `waits for ${id} to hand over`, until: deadline };
    case 'lost':
      return { why: `waits for ${id}, whose term is lost, to say that it has stopped`, until: leaseEnd };
  }
}

function withoutTerm(state: CoreState, group: LeaderGroup, now: number): GroupWait {
  const heldUntil = heldBackUntil(state, group);
  if (!isOver(heldUntil, now)) {
    return { why: 'waits for leaders of before the start of the sidecar, which may still live', until: heldUntil };
  }
  if (state.draining) return { why: 'the sidecar is shutting down', until: undefined };
  if (state.tokens.areUsedUp) return { why: 'waits for the disk, which takes no new terms', until: undefined };
  const [first] = group.candidates.values();
  return first === undefined ? { why: '', until: undefined } : passedOver(group, first, now);
}

/** Nobody can be asked: why not the first one. */
function passedOver({ backOffs }: LeaderGroup, candidate: Candidate, now: number): GroupWait {
  const { id, lost, keptUntil } = candidate;
  const until = backOffs.get(id)?.until ?? 0;
  if (lost !== undefined) return { why: `waits for ${id} to say that it has stopped`, until: undefined };
  if (!isPresent(candidate, now)) return { why: `waits for ${id}, whose stream broke, to come back`, until: keptUntil };
  if (now < until) return { why: `${id} failed, and is passed over`, until };
  return { why: `${id} is asked now`, until: undefined };
}
