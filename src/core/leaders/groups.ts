/** Groups by their names. */
import { LEADER_LIMITS } from '../contract/leader.js';
import type { Refusal } from '../contract/model.js';
import { RETRY_SOON } from '../contract/refusals.js';
import { COSTS } from '../state/held.js';
import { LeaderGroup } from '../state/leader-group.js';
import { lacksMemory } from '../state/memory-budget.js';
import type { CoreState } from '../state/state.js';
import { forgetBackOff, isForgotten } from './candidates.js';

/** A group that nobody stands in is forgotten after this long, ms: one that left nothing, and one that left a state. */
const WITHOUT_STATE = 3_600_000;
const WITH_STATE = 30 * 86_400_000;

/** @returns the group, made if need be, or why there may be no more */
export function findOrMakeGroup(state: CoreState, name: string, now: number): LeaderGroup | Refusal {
  const { groups } = state.leaders;
  const known = groups.get(name);
  if (known !== undefined) return known;
  const most = LEADER_LIMITS.groups - state.elsewhere.leaders.groups;
  if (groups.size >= most) forgetGroups(state, now);
  if (groups.size >= most) return leaderLimit('groups', 'groups of leaders', LEADER_LIMITS.groups);
  const full = lacksMemory(state, COSTS.group + name.length);
  if (full !== undefined) return full;
  const group = new LeaderGroup(name, now);
  keepGroup(state, group);
  return group;
}

export function keepGroup(state: CoreState, group: LeaderGroup): void {
  state.leaders.groups.set(group.name, group);
  state.chargedBytes += COSTS.group + group.name.length;
}

export function leaderLimit(subject: string, what: string, limit: number): Refusal {
  const description = `no more than ${limit} ${what}`;
  return { kind: 'limit', subject, limit, description, retryAfter: RETRY_SOON };
}

/** Forgets groups of which nobody wants to know, and back-offs that are long over. */
export function forgetGroups(state: CoreState, now: number): void {
  for (const group of state.leaders.groups.values()) {
    for (const [id, backOff] of group.backOffs) if (isForgotten(backOff, now)) forgetBackOff(state, group, id);
    if (!isForgettable(group, now)) continue;
    state.leaders.groups.delete(group.name);
    state.chargedBytes -= COSTS.group + group.name.length;
    state.wheel.cancel(group);
    state.payloadBytes -= group.state.length;
    state.changes?.leader(group.name);
  }
}

function isForgettable(group: LeaderGroup, now: number): boolean {
  const { term, candidates, watchers, backOffs, predecessor, state, since } = group;
  if (term !== undefined || candidates.size + watchers.size + backOffs.size > 0) return false;
  if (predecessor.how === 'none') return true;
  return now - since >= (state.length > 0 ? WITH_STATE : WITHOUT_STATE);
}
