/** How the answers of several partitions become one, for each call of operators. */
import type {
  AdminAnswer,
  AdminKind,
  AdminRequest,
  Changed,
  DeadLetterView,
  KeyView,
  Placed,
  Refusal,
  Result,
} from '../../coordinator.js';
import { isChange } from '../../coordinator.js';
import { badPageToken } from '../../core/contract/refusals.js';
import { limitsOfParts } from '../../core/contract/spread.js';
import type { AskedParts } from './asked-parts.js';
import { type Asked, gather, gatherAll, isAway, partial, why } from './asking.js';
import { listQueues } from './list-queues.js';
import { listSessions } from './list-sessions.js';
import { type Merge, type Merged, mergePages, placesOf } from './merged-pages.js';
import { mergeExplanations, mergeLimits, tooFewForParts } from './merged-views.js';

type Across<K extends AdminKind> = (parts: AskedParts<K>) => Promise<Result<AdminAnswer<K>>>;

/** Dead letters that are asked for at a time, of each part: each may be a megabyte, and there may be many parts. */
const FEW_LETTERS = 4;
/** As a home counts what a letter weighs besides payload and error. */
const LETTER_FRAME = 2_048;
const NONE_CHANGED: Changed = { done: 0, chosen: 0 };

export const ACROSS_PARTS: { readonly [K in AdminKind]: Across<K> } = {
  listQueues,
  listSessions,
  listKeys: async (parts) => {
    const { pageSize: most } = parts.request;
    const bytes = Number.POSITIVE_INFINITY;
    const merged = await pages(parts, ({ keys }) => keys, { most, bytes, before: isLonger, sizeOf: () => 0 });
    if (!merged.ok) return merged;
    const { rows, token, unavailable } = merged.value;
    return { ok: true, value: { keys: rows, nextPageToken: token, ...partial(unavailable) } };
  },
  explainKey: (parts) => read(parts, mergeExplanations),
  /** The id does not tell the part: a part that knows the item has the answer. */
  getItem: (parts) => read(parts, (all) => all.find(({ state }) => state !== 'unknown') ?? all[0]),
  evictHolder: oneHome,
  retryNow: async (parts) => {
    const asked = await parts.askAll();
    const done = asked.find(({ result }) => result.ok)?.result;
    if (done !== undefined) return done;
    const refusals = asked.flatMap(({ result }) => (result.ok ? [] : result.refusal));
    // A part that is away may have the item, and one of which the answer was lost may have done it: `no_home` denies that. Else the
    // part that knows most of the item has the answer.
    const away = refusals.find(({ kind }) => kind === 'store_unavailable') ?? refusals.find(isAway);
    const known = refusals.find((refusal) => refusal.kind !== 'no_such' || refusal.ended !== undefined);
    const refusal = away ?? known;
    return refusal === undefined ? nobody(asked) : { ok: false, refusal };
  },
  resumeKey: async (parts) => {
    const all = gatherAll(await parts.askAll());
    if (!all.ok) return all;
    const resumed = all.value.find((one) => one.resumed) ?? all.value[0];
    return { ok: true, value: resumed ?? { resumed: false, state: 'INIT' } };
  },
  pauseQueue: doAll,
  resumeQueue: doAll,
  setLimits: async (parts) => {
    const { router, request, partitions } = parts;
    const { queue, change } = request;
    const [only] = partitions;
    if (partitions.length === 1 && only !== undefined) return parts.ask(only);
    const spread = router.map.spreadOf(queue);
    const refusal = tooFewForParts(change, spread);
    if (refusal !== undefined) return { ok: false, refusal };
    if (!isChange('setLimits', request)) return read(parts, mergeLimits);
    const shareOf = (partition: number) => limitsOfParts(change, spread, router.map.partsIn(queue, partition));
    const all = gatherAll(await parts.askAll((partition) => ({ queue, change: shareOf(partition) })));
    return all.ok ? { ok: true, value: mergeLimits(all.value) } : all;
  },
  listDeadLetters: async (parts) => {
    const merge = {
      most: parts.request.pageSize,
      bytes: parts.router.settings.limits.answerBytes,
      before: (one: DeadLetterView, other: DeadLetterView) => one.item.submittedAt < other.item.submittedAt,
      sizeOf: ({ item, lastError }: DeadLetterView) => item.payload.length + (lastError?.length ?? 0) + LETTER_FRAME,
    };
    const merged = await pages(parts, ({ deadLetters }) => deadLetters, merge, FEW_LETTERS);
    if (!merged.ok) return merged;
    const { rows, token, unavailable } = merged.value;
    return { ok: true, value: { deadLetters: rows, nextPageToken: token, ...partial(unavailable) } };
  },
  redrive: (parts) => changeChosen(parts, parts.request),
  discard: discardChosen,
};

/** One answer of those that there are, with the partitions that gave none. */
async function read<K extends AdminKind>(
  parts: AskedParts<K>,
  merge: (all: readonly [AdminAnswer<K>, ...AdminAnswer<K>[]]) => AdminAnswer<K>,
): Promise<Result<AdminAnswer<K>>> {
  const asked = await parts.askAll();
  const gathered = gather(asked);
  if (!gathered.ok) return gathered;
  const { values, unavailable } = gathered.value;
  const [first, ...others] = values;
  if (first === undefined) return nobody(asked);
  return { ok: true, value: { ...merge([first, ...others]), ...partial(unavailable) } };
}

/** @param few rows of one part at a time, at most */
async function pages<K extends 'listKeys' | 'listDeadLetters', R extends Placed>(
  parts: AskedParts<K>,
  rowsOf: (page: AdminAnswer<K>) => readonly R[],
  merge: Merge<R>,
  few = Number.POSITIVE_INFINITY,
): Promise<Result<Merged<R>>> {
  const { request } = parts;
  const places = placesOf(request.pageToken);
  if (places === undefined) return badPageToken(request.pageToken);
  const sources = parts.partitions.map((partition) => ({
    partition,
    fetch: async (place: string, most: number) => {
      const answer = await parts.ask(partition, { ...request, pageToken: place, pageSize: Math.min(most, few) });
      if (!answer.ok) return answer;
      return { ok: true, value: { rows: rowsOf(answer.value), more: answer.value.nextPageToken !== '' } } as const;
    },
  }));
  return mergePages(sources, places, merge);
}

async function doAll(parts: AskedParts<'pauseQueue' | 'resumeQueue'>): Promise<Result<void>> {
  const all = gatherAll(await parts.askAll());
  return all.ok ? { ok: true, value: undefined } : all;
}

/** S455: with a bound, dead letters of all parts come before items that wait. */
async function discardChosen(parts: AskedParts<'discard'>): Promise<Result<Changed>> {
  const { request } = parts;
  const { most, waiting, dryRun } = request;
  if (most === undefined || !waiting || dryRun === true) return changeChosen(parts, request);
  const letters = await changeChosen(parts, { ...request, waiting: false });
  if (!letters.ok) return letters;
  const { done, asOf } = letters.value;
  return changeChosen(parts, { ...request, most: most - done }, { done, chosen: done, asOf });
}

/**
 * With a bound the parts are asked in turn: what one part leaves of the bound is left for the next part.
 *
 * @param before what was changed already
 */
async function changeChosen<K extends 'redrive' | 'discard'>(
  parts: AskedParts<K>,
  request: AdminRequest<K>,
  before = NONE_CHANGED,
): Promise<Result<Changed>> {
  const { most } = request;
  if (most === undefined) {
    const all = gatherAll(await parts.askAll(() => request));
    return all.ok ? { ok: true, value: all.value.reduce(added, before) } : all;
  }
  let sum = before;
  for (const partition of parts.partitions) {
    const left = most - (sum.done - before.done);
    const own = left > 0 ? { ...request, most: left } : { ...request, most: undefined, dryRun: true };
    const result = await parts.ask(partition, own);
    if (!result.ok) return sum.done === 0 ? result : changedBefore(sum, partition, result.refusal);
    sum = added(sum, result.value);
  }
  return { ok: true, value: sum };
}

/** S260: not `no_home`, which denies that anything was changed. */
function changedBefore({ done }: Changed, partition: number, refusal: Refusal): Result<never> {
  if (!isAway(refusal)) return { ok: false, refusal };
  const description = `${done} items were changed, then partition ${partition} could not be asked; it may be repeated; partition ${partition}: ${why(refusal)}`;
  return { ok: false, refusal: { kind: 'store_unavailable', description, retryAfter: 1_000 } };
}

function added(one: Changed, other: Changed): Changed {
  // The earliest: what died after it is left out everywhere.
  const asOf = Math.min(one.asOf ?? Number.POSITIVE_INFINITY, other.asOf ?? Number.POSITIVE_INFINITY);
  const chosen = one.chosen + other.chosen;
  return { done: one.done + other.done, chosen, asOf: asOf === Number.POSITIVE_INFINITY ? undefined : asOf };
}

/** Longest in its state first; of what nothing says since when, before the rest. */
function isLonger(a: KeyView, b: KeyView): boolean {
  return (a.since ?? 0) < (b.since ?? 0);
}

/** No part answered: the refusal is that of the first part. */
function nobody(asked: readonly Asked<unknown>[]): { readonly ok: false; readonly refusal: Refusal } {
  const refusal = asked.flatMap(({ result }) => (result.ok ? [] : result.refusal))[0];
  if (refusal === undefined) throw new TypeError('a queue without a partition');
  return { ok: false, refusal };
}

/** Of a call whose place always has a key. */
function oneHome(): never {
  throw new TypeError('a call about one key is asked of one home');
}
