import type {
  Administration,
  Changed,
  DeadLetterPage,
  EvictionView,
  GetItemRequest,
  ItemChoice,
  ItemReport,
  KeyExplanation,
  KeyPage,
  KeyView,
  LaneState,
  LimitsChange,
  LimitsView,
  ListDeadLettersRequest,
  ListKeysRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  QueuePage,
  Refusal,
  Result,
  RetryNowRequest,
  RetryNowView,
  SessionPage,
  Watch,
  Watcher,
} from '../../coordinator.js';
import { placesFor } from '../../coordinator.js';
import { badPageToken, DRAINING } from '../../core/contract/refusals.js';
import { limitsOfParts } from '../../core/contract/spread.js';
import {
  type Ask,
  type Asked,
  askHome,
  askHomes,
  CHANGE_WITHIN,
  gather,
  gatherAll,
  inName,
  isAway,
  partial,
  READ_WITHIN,
} from './asking.js';
import { listQueues } from './list-queues.js';
import { listSessions } from './list-sessions.js';
import { mergePages, placesOf } from './merged-pages.js';
import { mergeExplanations, mergeLimits, tooFewForParts } from './merged-views.js';
import { MergedWatch } from './merged-watch.js';
import type { Router } from './router.js';

type Resumed = { readonly resumed: boolean; readonly state: LaneState };

/** The calls of people: about a key to its home, about a queue to the homes of all its parts, about all to all. */
export class RoutedAdministration implements Administration {
  constructor(
    private readonly router: Router,
    /** Who asks; unset: that is not known. */
    private readonly principal?: string,
    /** Of all who ask. */
    private readonly watches = new Set<MergedWatch>(),
  ) {}

  by(principal: string): Administration {
    return new RoutedAdministration(this.router, principal, this.watches);
  }

  listQueues(request: ListQueuesRequest): Promise<Result<QueuePage>> {
    return listQueues(this.router, request);
  }

  listSessions(request: ListSessionsRequest): Promise<Result<SessionPage>> {
    return listSessions(this.router, request);
  }

  async listKeys(request: ListKeysRequest): Promise<Result<KeyPage>> {
    const { queue, pageToken, pageSize } = request;
    const only = this.#onlyPart(queue);
    if (only !== undefined) return this.#readKey(only, (admin) => admin.listKeys(request));
    const places = placesOf(pageToken);
    if (places === undefined) return badPageToken(pageToken);
    const sources = this.router.map.all(queue).map((partition) => ({
      partition,
      fetch: async (place: string, most: number) => {
        const page = { ...request, pageToken: place, pageSize: most };
        const answer = await this.#askHome(partition, READ_WITHIN, (admin) => admin.listKeys(page));
        if (!answer.ok) return answer;
        const { keys, nextPageToken } = answer.value;
        return { ok: true, value: { rows: keys, more: nextPageToken !== '' } } as const;
      },
    }));
    const bytes = Number.POSITIVE_INFINITY;
    const merged = await mergePages(sources, places, { most: pageSize, bytes, before: isLonger, sizeOf: () => 0 });
    if (!merged.ok) return merged;
    const { rows, token, unavailable } = merged.value;
    return { ok: true, value: { keys: rows, nextPageToken: token, ...partial(unavailable) } };
  }

  async explainKey(queue: string, key: string): Promise<Result<KeyExplanation>> {
    const only = key === '' ? this.#onlyPart(queue) : this.router.map.of(queue, key);
    if (only !== undefined) return this.#readKey(only, (admin) => admin.explainKey(queue, key));
    const asked = await this.#askHomes(this.router.map.all(queue), READ_WITHIN, (admin) =>
      admin.explainKey(queue, key),
    );
    const gathered = gather(asked);
    if (!gathered.ok) return gathered;
    const [first, ...others] = gathered.value.values;
    if (first === undefined) return nobody(asked);
    return { ok: true, value: { ...mergeExplanations([first, ...others]), ...partial(gathered.value.unavailable) } };
  }

  /** Nobody knows by its id alone where an item is: all parts of the queue are asked. */
  async getItem(request: GetItemRequest): Promise<Result<ItemReport>> {
    const { queue } = request;
    const only = this.#onlyPart(queue);
    if (only !== undefined) return this.#readKey(only, (admin) => admin.getItem(request));
    const asked = await this.#askHomes(this.router.map.all(queue), READ_WITHIN, (admin) => admin.getItem(request));
    const gathered = gather(asked);
    if (!gathered.ok) return gathered;
    const { values, unavailable } = gathered.value;
    const [first] = values;
    const found = values.find(({ state }) => state !== 'unknown') ?? first;
    return found === undefined ? nobody(asked) : { ok: true, value: { ...found, ...partial(unavailable) } };
  }

  evictHolder(queue: string, key: string, discard?: boolean): Promise<Result<EvictionView>> {
    return this.#changeKey(this.router.map.of(queue, key), (admin) => admin.evictHolder(queue, key, discard));
  }

  async retryNow(request: RetryNowRequest): Promise<Result<RetryNowView>> {
    const { queue, what } = request;
    const only = 'key' in what ? this.router.map.of(queue, what.key) : this.#onlyPart(queue);
    if (only !== undefined) return this.#changeKey(only, (admin) => admin.retryNow(request));
    const asked = await this.#changeParts(queue, (admin) => admin.retryNow(request));
    const done = asked.find(({ result }) => result.ok)?.result;
    if (done !== undefined) return done;
    // It may be at one that could not be asked; else the one that knows most of the item tells it.
    const refusals = asked.flatMap(({ result }) => (result.ok ? [] : result.refusal));
    const [first] = refusals;
    const away = refusals.find(isAway);
    const known = refusals.find((refusal) => refusal.kind !== 'no_such' || refusal.ended !== undefined);
    const refusal = away ?? known ?? first;
    return refusal === undefined ? nobody(asked) : { ok: false, refusal };
  }

  async resumeKey(queue: string, key: string): Promise<Result<Resumed>> {
    const only = key === '' ? this.#onlyPart(queue) : this.router.map.of(queue, key);
    if (only !== undefined) return this.#changeKey(only, (admin) => admin.resumeKey(queue, key));
    const all = gatherAll(await this.#changeParts(queue, (admin) => admin.resumeKey(queue, key)));
    if (!all.ok) return all;
    const resumed = all.value.find((one) => one.resumed) ?? all.value[0];
    return { ok: true, value: resumed ?? { resumed: false, state: 'INIT' } };
  }

  pauseQueue(queue: string): Promise<Result<void>> {
    return this.#doAll(queue, (admin) => admin.pauseQueue(queue));
  }

  resumeQueue(queue: string): Promise<Result<void>> {
    return this.#doAll(queue, (admin) => admin.resumeQueue(queue));
  }

  async setLimits(queue: string, change: LimitsChange): Promise<Result<LimitsView>> {
    const { map } = this.router;
    const parts = map.all(queue);
    const [only] = parts;
    const isQuestion = change.rate === undefined && change.maxInFlight === undefined;
    if (parts.length === 1 && only !== undefined) {
      return this.#readKey(only, (admin) => admin.setLimits(queue, change), isQuestion ? READ_WITHIN : CHANGE_WITHIN);
    }
    const spread = map.spreadOf(queue);
    const refusal = tooFewForParts(change, spread);
    if (refusal !== undefined) return { ok: false, refusal };
    const ask = (admin: Administration, partition: number) =>
      admin.setLimits(queue, limitsOfParts(change, spread, map.partsIn(queue, partition)));
    const asked = await this.#askHomes(parts, isQuestion ? READ_WITHIN : CHANGE_WITHIN, ask);
    if (!isQuestion) {
      const all = gatherAll(asked);
      return all.ok ? { ok: true, value: mergeLimits(all.value) } : all;
    }
    const gathered = gather(asked);
    if (!gathered.ok) return gathered;
    const { values, unavailable } = gathered.value;
    return values.length === 0
      ? nobody(asked)
      : { ok: true, value: { ...mergeLimits(values), ...partial(unavailable) } };
  }

  async listDeadLetters(request: ListDeadLettersRequest): Promise<Result<DeadLetterPage>> {
    const { queue, key, pageToken, pageSize } = request;
    const { router } = this;
    const only = key === undefined || key === '' ? this.#onlyPart(queue) : router.map.of(queue, key);
    if (only !== undefined) return this.#readKey(only, (admin) => admin.listDeadLetters(request));
    const places = placesOf(pageToken);
    if (places === undefined) return badPageToken(pageToken);
    const sources = router.map.all(queue).map((partition) => ({
      partition,
      fetch: async (place: string, most: number) => {
        // Each may carry a large payload: fewer at a time where there are many parts.
        const page = { ...request, pageToken: place, pageSize: Math.min(most, FEW_LETTERS) };
        const answer = await this.#askHome(partition, READ_WITHIN, (admin) => admin.listDeadLetters(page));
        if (!answer.ok) return answer;
        const { deadLetters, nextPageToken } = answer.value;
        return { ok: true, value: { rows: deadLetters, more: nextPageToken !== '' } } as const;
      },
    }));
    const merged = await mergePages(sources, places, {
      most: pageSize,
      bytes: router.settings.limits.answerBytes,
      before: (a, b) => a.item.submittedAt < b.item.submittedAt,
      sizeOf: ({ item, lastError }) => item.payload.length + (lastError?.length ?? 0) + LETTER_FRAME,
    });
    if (!merged.ok) return merged;
    const { rows, token, unavailable } = merged.value;
    return { ok: true, value: { deadLetters: rows, nextPageToken: token, ...partial(unavailable) } };
  }

  redrive(choice: ItemChoice): Promise<Result<Changed>> {
    return this.#change(choice, (admin, own) => admin.redrive(own));
  }

  discard(choice: ItemChoice, waiting: boolean): Promise<Result<Changed>> {
    return this.#change(choice, (admin, own) => admin.discard(own, waiting));
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const { router } = this;
    if (router.isClosed) return { ok: false, refusal: DRAINING };
    const { watchers } = router.settings.limits;
    const places = placesFor(watcher, watchers);
    if (this.watches.size >= places) return { ok: false, refusal: tooMany(places) };
    const onEnd = (ended: MergedWatch) => this.watches.delete(ended);
    const watch = new MergedWatch(
      router,
      { queue, key, principal: this.principal },
      this.#watched(queue, key),
      watcher,
      onEnd,
    );
    const refusal = watch.begin();
    if (refusal !== undefined) return { ok: false, refusal };
    this.watches.add(watch);
    return { ok: true, value: watch };
  }

  changed(partitions: readonly number[]): void {
    for (const watch of [...this.watches]) watch.changed(partitions);
  }

  /** Queues may be elsewhere by now. */
  rerouted(): void {
    for (const watch of [...this.watches]) watch.reroute(this.#watched(watch.wanted.queue, watch.wanted.key));
  }

  /** Whoever watches is told that nothing follows. */
  end(): void {
    for (const watch of [...this.watches]) watch.end();
  }

  #watched(queue: string | undefined, key: string | undefined): readonly number[] {
    const { map } = this.router;
    if (queue === undefined) return Array.from({ length: map.partitions }, (_, partition) => partition);
    return key === undefined || key === '' ? map.all(queue) : [map.of(queue, key)];
  }

  #askHome<T>(partition: number, within: number, ask: Ask<T>): Promise<Result<T>> {
    return askHome(this.router, partition, within, this.#named(ask));
  }

  #askHomes<T>(partitions: readonly number[], within: number, ask: Ask<T>): Promise<readonly Asked<T>[]> {
    return askHomes(this.router, partitions, within, this.#named(ask));
  }

  #named<T>(ask: Ask<T>): Ask<T> {
    const { principal } = this;
    return principal === undefined ? ask : (admin, partition) => ask(inName(admin, principal), partition);
  }

  /** Unset: the queue is spread. */
  #onlyPart(queue: string): number | undefined {
    const { map } = this.router;
    return map.isSpread(queue) ? undefined : map.of(queue, '');
  }

  /** One home knows all of the answer: without it there is none. */
  #readKey<T>(partition: number, ask: (admin: Administration) => Promise<Result<T>>, within = READ_WITHIN) {
    return this.#askHome(partition, within, ask);
  }

  #changeKey<T>(partition: number, ask: (admin: Administration) => Promise<Result<T>>) {
    return this.#askHome(partition, CHANGE_WITHIN, ask);
  }

  #changeParts<T>(queue: string, ask: (admin: Administration) => Promise<Result<T>>) {
    return this.#askHomes(this.router.map.all(queue), CHANGE_WITHIN, ask);
  }

  async #doAll(queue: string, ask: (admin: Administration) => Promise<Result<void>>): Promise<Result<void>> {
    const only = this.#onlyPart(queue);
    if (only !== undefined) return this.#changeKey(only, ask);
    const all = gatherAll(await this.#changeParts(queue, ask));
    return all.ok ? { ok: true, value: undefined } : all;
  }

  /** Where it is bounded the parts are asked in turn: what one leaves of the bound is the next one's. */
  async #change(choice: ItemChoice, ask: AskToChange): Promise<Result<Changed>> {
    const { queue, key, most } = choice;
    const only = key === undefined || key === '' ? this.#onlyPart(queue) : this.router.map.of(queue, key);
    if (only !== undefined) return this.#changeKey(only, (admin) => ask(admin, choice));
    if (most === undefined) {
      const all = gatherAll(await this.#changeParts(queue, (admin) => ask(admin, choice)));
      return all.ok ? { ok: true, value: all.value.reduce(added, NONE_CHANGED) } : all;
    }
    let sum = NONE_CHANGED;
    for (const partition of this.router.map.all(queue)) {
      const left = most - sum.done;
      const own = left > 0 ? { ...choice, most: left } : { ...choice, most: undefined, dryRun: true };
      const result = await this.#changeKey(partition, (admin) => ask(admin, own));
      if (!result.ok) return result;
      sum = added(sum, result.value);
    }
    return { ok: true, value: sum };
  }
}

type AskToChange = (admin: Administration, choice: ItemChoice) => Promise<Result<Changed>>;
const NONE_CHANGED: Changed = { done: 0, chosen: 0 };

function added(one: Changed, other: Changed): Changed {
  // The earliest: what died after it is left out everywhere.
  const asOf = Math.min(one.asOf ?? Number.POSITIVE_INFINITY, other.asOf ?? Number.POSITIVE_INFINITY);
  const chosen = one.chosen + other.chosen;
  return { done: one.done + other.done, chosen, asOf: asOf === Number.POSITIVE_INFINITY ? undefined : asOf };
}

/** Dead letters that are asked for at a time, of each part: each may be a megabyte. */
const FEW_LETTERS = 4;
/** As a home counts what a letter weighs besides payload and error. */
const LETTER_FRAME = 2_048;

/** Longest in its state first; of what nothing says since when, before the rest. */
function isLonger(a: KeyView, b: KeyView): boolean {
  return (a.since ?? 0) < (b.since ?? 0);
}

/** Nobody answered: the first reason is told. */
function nobody(asked: readonly Asked<unknown>[]): { readonly ok: false; readonly refusal: Refusal } {
  const refusal = asked.flatMap(({ result }) => (result.ok ? [] : result.refusal))[0];
  if (refusal === undefined) throw new TypeError('a queue without a partition');
  return { ok: false, refusal };
}

function tooMany(watchers: number): Refusal {
  const description = `no more than ${watchers} watch at once (limits.watchers)`;
  return { kind: 'limit', subject: 'watchers', limit: watchers, description, retryAfter: 1_000 };
}
