/** Who stands: comes, is absent, is passed over, leaves. */

import { COSTS, costOfCandidate } from '../state/held.js';
import type { BackOff, Candidate, LeaderGroup } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';

/** One who was told something asks again at once; until then it counts as present, ms. */
const ASKS_AGAIN_WITHIN = 1_000;
/** After the first failure, ms, and the longest. A back-off is forgotten when as much as the longest has passed since it ended. */
const FIRST_BACK_OFF = 1_000;
const LONGEST_BACK_OFF = 60_000;
/** Of one group; the oldest is forgotten first. */
const MOST_BACK_OFFS = 1_000;

/** It joins the line, as the last. Precondition: nobody of its id stands there. */
export function join(state: CoreState, group: LeaderGroup, candidate: Candidate): void {
  group.candidates.set(candidate.id, candidate);
  state.leaders.candidates += 1;
  state.chargedBytes += costOfCandidate(candidate);
}

/** It leaves the line. */
export function leave(state: CoreState, group: LeaderGroup, candidate: Candidate): void {
  if (group.candidates.get(candidate.id) !== candidate) return;
  group.candidates.delete(candidate.id);
  state.leaders.candidates -= 1;
  state.chargedBytes -= costOfCandidate(candidate);
}

/** Its call was answered: it asks again soon. */
export function answered(candidate: Candidate, now: number): void {
  candidate.call = undefined;
  candidate.presentUntil = now + ASKS_AGAIN_WITHIN;
  candidate.keptUntil = after(now, candidate.ttl);
}

/** Its call ended without an answer: it is absent, and keeps its place for its `ttl` (L6). */
export function broke(candidate: Candidate, now: number): void {
  candidate.call = undefined;
  candidate.presentUntil = now;
  candidate.keptUntil = after(now, candidate.ttl);
}

export function isPresent({ call, presentUntil }: Candidate, now: number): boolean {
  return call !== undefined || now < presentUntil;
}

/** Those whose place is kept no longer lose it. */
export function dropAbsent(state: CoreState, group: LeaderGroup, now: number): void {
  for (const candidate of group.candidates.values()) {
    if (candidate.call === undefined && isOver(candidate.keptUntil, now)) leave(state, group, candidate);
  }
}

/** The first in the line that may lead now: neither absent nor in a back-off, and it has stopped what it lost. */
export function firstThatMay(group: LeaderGroup, now: number): Candidate | undefined {
  for (const candidate of group.candidates.values()) {
    const isBackingOff = now < (group.backOffs.get(candidate.id)?.until ?? 0);
    if (isPresent(candidate, now) && candidate.lost === undefined && !isBackingOff) return candidate;
  }
  return undefined;
}

/** It failed, once more: it is passed over for a time (L3). */
export function backOff(state: CoreState, group: LeaderGroup, id: string, now: number): void {
  const failures = failuresNow(group.backOffs.get(id), now) + 1;
  const wait = Math.min(FIRST_BACK_OFF * 2 ** (failures - 1), LONGEST_BACK_OFF);
  forgetBackOff(state, group, id);
  group.backOffs.set(id, { failures, until: after(now, wait) });
  state.chargedBytes += COSTS.backOff + id.length;
  if (group.backOffs.size <= MOST_BACK_OFFS) return;
  for (const oldest of group.backOffs.keys()) {
    forgetBackOff(state, group, oldest);
    return;
  }
}

export function forgetBackOff(state: CoreState, { backOffs }: LeaderGroup, id: string): void {
  if (backOffs.delete(id)) state.chargedBytes -= COSTS.backOff + id.length;
}

function failuresNow(before: BackOff | undefined, now: number): number {
  return before === undefined || isForgotten(before, now) ? 0 : before.failures;
}

export function isForgotten({ until }: BackOff, now: number): boolean {
  return now >= until + LONGEST_BACK_OFF;
}

/** When something of the line is due; Infinity: nothing. @param electing nobody leads: the end of a back-off counts */
export function lineDue(group: LeaderGroup, electing: boolean, now: number): number {
  let due = Number.POSITIVE_INFINITY;
  for (const { id, call, keptUntil } of group.candidates.values()) {
    if (call === undefined) due = Math.min(due, keptUntil);
    const until = electing ? group.backOffs.get(id)?.until : undefined;
    if (until !== undefined && until > now) due = Math.min(due, until);
  }
  return due;
}
