/**
 * ListKeys: the keys of a queue, longest in their state first (S122).
 *
 * A queue may have a million keys: the scan stops after every slice and goes on when it is asked to. No index by age is
 * kept for this: every change of a state would have to move a key in it, for a list that people ask for now and then.
 */

import type { LaneState } from '../../contract/model.js';
import type { KeyPage, KeyView, ListKeysRequest } from '../../contract/views.js';
import { keylessName, stateOf, turnOf } from '../../state/lane.js';
import type { Lane, Queue } from '../../state/records.js';
import { newestSettledToken } from '../../state/settlements.js';
import type { CoreState } from '../../state/state.js';
import { sinceOf, wall } from './explain.js';

/** A place in a list: longest in its state first, then by key; keyless lanes, which share theirs, by `nth`. */
interface Place {
  /** ms of the core's clock; 0 of an idle lane. So a page token means nothing to another run. */
  readonly since: number;
  /** The order of submission of the item of a keyless lane; 0 of a lane with a key. */
  readonly nth: number;
  readonly key: string;
}

type Unplaced = Omit<KeyView, 'place'>;

/** The view is of the moment at which the lane was looked at: the scan may take many steps. */
interface Found {
  readonly lane: Lane;
  readonly place: Place;
  readonly view: Unplaced;
}

/** Whether `a` is listed before `b`. Lanes of one moment stand in the order of their keys. */
function before(a: Place, b: Place): boolean {
  if (a.since !== b.since) return a.since < b.since;
  return a.key === b.key ? a.nth < b.nth : a.key < b.key;
}

/**
 * One page, in one scan over all lanes. Kept are the best places behind the token, at most twice as many as the page
 * holds: when the buffer is full it is sorted and cut. So a page costs O(lanes), and memory for a page only.
 *
 * Lanes are not brought up to date: a state is told as it was when the scan met the lane.
 *
 * Source of the selection: the bounded heap of D. E. Knuth, TAOCP vol. 3, 5.2.3 (here a sorted buffer, cut when full).
 *
 * @param slice lanes looked at before a stop
 */
export function* listKeys(
  state: CoreState,
  queue: Queue,
  request: ListKeysRequest,
  slice: number,
): Generator<undefined, KeyPage> {
  const after = parseToken(request.pageToken);
  let best: Found[] = [];
  let seen = 0;
  let more = false;
  for (const lane of lanesOf(queue)) {
    if (++seen % slice === 0) yield;
    if (!fits(lane, request.state)) continue;
    const place = placeOf(lane);
    if (after !== undefined && !before(after, place)) continue;
    best.push({ lane, place, view: keyView(state, lane) });
    if (best.length <= request.pageSize * 2) continue;
    best = eachOnce(best);
    more ||= best.length > request.pageSize;
    best = best.slice(0, request.pageSize);
  }
  best = eachOnce(best);
  more ||= best.length > request.pageSize;
  const kept = best.slice(0, request.pageSize);
  const last = kept.at(-1);
  return {
    keys: kept.map(({ view, place }) => ({ ...view, place: formatToken(place) })),
    nextPageToken: more && last !== undefined ? formatToken(last.place) : '',
  };
}

function placeOf(lane: Lane): Place {
  const { phase, key } = lane;
  // Of an idle key nothing says since when it is so: they are in the order of their names.
  return { since: phase.at === 'INIT' ? 0 : phase.since, nth: keylessName(lane) ?? 0, key };
}

/** All lanes of a queue, idle ones too: those of keys, then keyless ones. */
function* lanesOf(queue: Queue): Generator<Lane> {
  yield* queue.lanes.values();
  yield* keylessLanes(queue);
}

/** The lanes of keyless items, for a walk with pauses. Some are met twice: whoever walks has to tell them apart. */
export function* keylessLanes(queue: Queue): Generator<Lane> {
  // First by what stays where it is, whether it waits or is in flight: nothing is passed over because it moved
  // meanwhile.
  for (const item of queue.items.scan()) if (item.lane.key === '') yield item.lane;
  // Under several tokens, but listed once. What was open before and is done now is met twice.
  for (const [token, lane] of queue.keyless) if (newestToken(lane) === token && !isOpen(lane)) yield lane;
}

/** Whether the lane has an item that waits or is in flight. Items of at_most_once are done when handed out. */
function isOpen(lane: Lane): boolean {
  const assignment = turnOf(lane)?.assignment;
  return lane.line !== undefined || (assignment?.kind === 'items' && !assignment.done);
}

/** Under this token alone of all its tokens a lane is listed: that of its live turn, else of its newest settlement. */
function newestToken(lane: Lane): number | undefined {
  return turnOf(lane)?.token ?? newestSettledToken(lane);
}

/** Idle lanes are listed only when they are asked for by name (`INIT`). */
function fits(lane: Lane, wanted: LaneState | undefined): boolean {
  const state = stateOf(lane);
  return wanted === undefined ? state !== 'INIT' : state === wanted;
}

/** In order. A lane that was met twice is listed as it was found last: in a walk with pauses some go and come again. */
function eachOnce(found: readonly Found[]): Found[] {
  const latest = new Map(found.map((one) => [one.lane.key === '' ? one.lane : one.lane.key, one]));
  return [...latest.values()].sort((a, b) => (before(a.place, b.place) ? -1 : 1));
}

function keyView(state: CoreState, lane: Lane): Unplaced {
  return {
    key: lane.key,
    state: stateOf(lane),
    since: wall(state, sinceOf(lane)),
    waiting: lane.line?.length ?? 0,
    consumerId: turnOf(lane)?.consumerId,
  };
}

/** A page token: the place of the last key that was told. The key comes last, because it may hold anything. */
function formatToken({ since, nth, key }: Place): string {
  return `${since}:${nth}:${key}`;
}

const TOKEN = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?):(\d+):(.*)$/s;

function parseToken(token: string): Place | undefined {
  const [, since, nth, key] = TOKEN.exec(token) ?? [];
  return key === undefined ? undefined : { since: Number(since), nth: Number(nth), key };
}

/** Whether a page token is one of this list: empty, or a place. */
export function isKeysToken(token: string): boolean {
  return token === '' || TOKEN.test(token);
}
