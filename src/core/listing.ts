/** Lists of keys. A queue may have a million: the scan stops after every slice and goes on when it is asked to. */

import { sinceOf, wall } from './explain.js';
import { type Lane, stateOf, turnOf } from './lane.js';
import { Item } from './line.js';
import type { LaneState } from './model.js';
import type { Queue } from './queue.js';
import { newestSettledToken } from './settlements.js';
import type { CoreState } from './state.js';
import type { KeyPage, KeyView, ListKeysRequest } from './views.js';

/** A place in a list: longest in its state first, then by key; keyless lanes, which share theirs, by `nth`. */
interface Place {
  readonly since: number;
  readonly nth: number;
  readonly key: string;
}

/** The view is of the moment at which the lane was looked at: the scan may take many steps. */
interface Found {
  readonly place: Place;
  readonly view: KeyView;
}

function before(a: Place, b: Place): boolean {
  if (a.since !== b.since) return a.since < b.since;
  return a.key === b.key ? a.nth < b.nth : a.key < b.key;
}

/**
 * One page, in one scan over all lanes and a heap of the size of the page.
 * Source of the selection: the bounded heap of D. E. Knuth, TAOCP vol. 3, 5.2.3 (here a sorted buffer, cut when full).
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
    best.push({ place, view: keyView(state, lane, place.since) });
    if (best.length > request.pageSize * 2) {
      best = cut(best, request.pageSize);
      more = true;
    }
  }
  const kept = cut(best, request.pageSize);
  more ||= kept.length < best.length;
  const last = kept.at(-1);
  return {
    keys: kept.map(({ view }) => view),
    nextPageToken: more && last !== undefined ? formatToken(last.place) : '',
  };
}

function placeOf(lane: Lane): Place {
  return { since: sinceOf(lane) ?? 0, nth: lane.key === '' ? nthOf(lane) : 0, key: lane.key };
}

/** The order of submission of what waits, else a token: neither is anybody else's, and tokens are far larger. */
function nthOf(lane: Lane): number {
  const head = lane.line?.head;
  return head instanceof Item ? head.seq : (newestToken(lane) ?? 0);
}

function* lanesOf(queue: Queue): Generator<Lane> {
  yield* queue.lanes.values();
  // Under several tokens, but told once; one that waits is told with its item.
  for (const [token, lane] of queue.keyless) {
    if (lane.line === undefined && newestToken(lane) === token) yield lane;
  }
  for (const item of queue.items.scan()) if (item.lane.key === '' && !item.inFlight) yield item.lane;
}

function newestToken(lane: Lane): number | undefined {
  return turnOf(lane)?.token ?? newestSettledToken(lane);
}

function fits(lane: Lane, wanted: LaneState | undefined): boolean {
  const state = stateOf(lane);
  return wanted === undefined ? state !== 'INIT' : state === wanted;
}

function cut(found: Found[], size: number): Found[] {
  return found.sort((a, b) => (before(a.place, b.place) ? -1 : 1)).slice(0, size);
}

function keyView(state: CoreState, lane: Lane, since: number): KeyView {
  return {
    key: lane.key,
    state: stateOf(lane),
    since: wall(state, since) ?? 0,
    waiting: lane.line?.length ?? 0,
    consumerId: turnOf(lane)?.consumerId,
  };
}

function formatToken({ since, nth, key }: Place): string {
  return `${since}:${nth}:${key}`;
}

const TOKEN = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?):(\d+):(.*)$/s;

function parseToken(token: string): Place | undefined {
  const [, since, nth, key] = TOKEN.exec(token) ?? [];
  return key === undefined ? undefined : { since: Number(since), nth: Number(nth), key };
}

/** Whether a token is one of ours. */
export function isKeysToken(token: string): boolean {
  return token === '' || TOKEN.test(token);
}
