/** Lists of keys. A queue may have a million: the scan stops after every slice and goes on when it is asked to. */

import { sinceOf, wall } from './explain.js';
import { type Lane, stateOf, turnOf } from './lane.js';
import type { LaneState } from './model.js';
import type { Queue } from './queue.js';
import type { CoreState } from './state.js';
import type { KeyPage, KeyView, ListKeysRequest } from './views.js';

interface Found {
  readonly lane: Lane;
  readonly since: number;
}

/** Order of a list: longest in its state first, then by key. */
function before(a: { since: number; key: string }, b: { since: number; key: string }): boolean {
  return a.since < b.since || (a.since === b.since && a.key < b.key);
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
    const since = sinceOf(lane) ?? 0;
    if (!fits(lane, request.state) || (after !== undefined && !before(after, { since, key: lane.key }))) continue;
    best.push({ lane, since });
    if (best.length > request.pageSize * 2) {
      best = cut(best, request.pageSize);
      more = true;
    }
  }
  const kept = cut(best, request.pageSize);
  more ||= kept.length < best.length;
  const last = kept.at(-1);
  return {
    keys: kept.map(({ lane, since }) => keyView(state, lane, since)),
    nextPageToken: more && last !== undefined ? formatToken(last) : '',
  };
}

function* lanesOf(queue: Queue): Generator<Lane> {
  yield* queue.lanes.values();
  // Under several tokens, but told once; one that waits is told with its item.
  for (const [token, lane] of queue.keyless) {
    if (lane.line === undefined && newestToken(lane) === token) yield lane;
  }
  for (const item of queue.items.values()) if (item.lane.key === '' && !item.inFlight) yield item.lane;
}

function newestToken(lane: Lane): number | undefined {
  return turnOf(lane)?.token ?? lane.settlements?.token;
}

function fits(lane: Lane, wanted: LaneState | undefined): boolean {
  const state = stateOf(lane);
  return wanted === undefined ? state !== 'INIT' : state === wanted;
}

function cut(found: Found[], size: number): Found[] {
  const order = (a: Found, b: Found) => (before(named(a), named(b)) ? -1 : 1);
  return found.sort(order).slice(0, size);
}

function named(found: Found): { since: number; key: string } {
  return { since: found.since, key: found.lane.key };
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

function formatToken(found: Found): string {
  return `${found.since}:${found.lane.key}`;
}

function parseToken(token: string): { since: number; key: string } | undefined {
  if (token === '') return undefined;
  const colon = token.indexOf(':');
  return { since: Number(token.slice(0, colon)), key: token.slice(colon + 1) };
}

/** Whether a token is one of ours. */
export function isKeysToken(token: string): boolean {
  return token === '' || /^\d+(\.\d+)?(e[+-]?\d+)?:/.test(token);
}
