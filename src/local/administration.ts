import type {
  Administration,
  Changed,
  DeadLetterPage,
  GetItemRequest,
  ItemChoice,
  ItemReport,
  KeyExplanation,
  KeyPage,
  LimitsChange,
  ListDeadLettersRequest,
  ListKeysRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  Refusal,
  Result,
  RetryNowRequest,
  Watch,
  Watcher,
} from '../coordinator.js';
import { placesFor } from '../coordinator.js';
import { reportOf } from '../core/calls/admin/get-item.js';
import { DRAINING } from '../core/contract/refusals.js';
import type { Walk } from '../core/core.js';
import type { Clock } from './clock.js';
import type { Loop } from './loop.js';

/** Lanes or letters looked at in one go: a few milliseconds. */
const SLICE = 5_000;
/** Items removed or put back in one go: about as long. */
const CHANGED = 1_000;

/** The calls that people make. What has to look at everything does so in slices, so that workers do not notice. */
export class LocalAdministration implements Administration {
  constructor(
    private readonly loop: Loop,
    private readonly clock: Clock,
    private readonly maxWatchers: number,
  ) {}

  async listQueues(request: ListQueuesRequest) {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal } as const;
    return { ok: true, value: this.loop.core.listQueues(request, this.#now()) } as const;
  }

  async listSessions(request: ListSessionsRequest) {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal } as const;
    this.#now();
    return { ok: true, value: this.loop.core.listSessions(request) } as const;
  }

  async listKeys(request: ListKeysRequest): Promise<Result<KeyPage>> {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal };
    this.#now();
    const scan = this.loop.core.listKeys(request, SLICE);
    if (!scan.ok) return scan;
    const value =
      scan.value === undefined ? { keys: [], nextPageToken: '' } : await this.#inSlices(scan.value, (page) => page);
    return { ok: true, value };
  }

  async explainKey(queue: string, key: string) {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal } as const;
    const scan = key === '' ? this.loop.core.explainKeyless(queue, SLICE, () => this.#now()) : undefined;
    if (scan?.ok === false) return scan;
    if (scan?.value !== undefined) {
      return { ok: true, value: this.#traced(await this.#inSlices(scan.value, (report) => report)) } as const;
    }
    const found = this.#step((now) => this.loop.core.explainKey(queue, key, now));
    return found.ok ? ({ ok: true, value: this.#traced(found.value) } as const) : found;
  }

  #traced(view: KeyExplanation): KeyExplanation {
    return this.loop.store?.explained(view) ?? view;
  }

  async getItem({ queue, itemId, withPayload }: GetItemRequest): Promise<Result<ItemReport>> {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal };
    const found = this.#step((now) => this.loop.core.getItem(queue, itemId, now));
    if (!found.ok) return found;
    const whole = this.loop.store?.itemReport(found.value) ?? found;
    return whole.ok ? { ok: true, value: reportOf(whole.value, withPayload) } : whole;
  }

  async evictHolder(queue: string, key: string, discard = false) {
    return this.#change(queue, (now) => this.loop.core.evictHolder(queue, key, now, discard));
  }

  async retryNow(request: RetryNowRequest) {
    return this.#change(request.queue, (now) => this.loop.core.retryNow(request, now));
  }

  async resumeKey(queue: string, key: string) {
    return this.#change(queue, (now) => this.loop.core.resumeKey(queue, key, now));
  }

  async pauseQueue(queue: string) {
    return this.#change(queue, (now) => this.loop.core.pauseQueue(queue, now));
  }

  async resumeQueue(queue: string) {
    return this.#change(queue, (now) => this.loop.core.resumeQueue(queue, now));
  }

  async setLimits(queue: string, change: LimitsChange) {
    const changesNothing = change.rate === undefined && change.maxInFlight === undefined;
    const refusal = changesNothing ? this.#closed() : undefined;
    if (refusal !== undefined) return { ok: false, refusal } as const;
    if (changesNothing) return this.#step((now) => this.loop.core.setLimits(queue, change, now));
    return this.#change(queue, (now) => this.loop.core.setLimits(queue, change, now));
  }

  async listDeadLetters(request: ListDeadLettersRequest): Promise<Result<DeadLetterPage>> {
    const refusal = this.#closed();
    if (refusal !== undefined) return { ok: false, refusal };
    this.#now();
    const scan = this.loop.core.listDeadLetters(request, SLICE);
    if (!scan.ok) return scan;
    if (scan.value === undefined) return { ok: true, value: { deadLetters: [], nextPageToken: '' } };
    return this.#inSlices(scan.value, (page) => this.loop.store?.page(page) ?? { ok: true, value: page });
  }

  async redrive(choice: ItemChoice): Promise<Result<Changed>> {
    return this.#walks(choice.queue, (clock) => [this.loop.core.redrive(choice, CHANGED, clock)]);
  }

  async discard(choice: ItemChoice, waiting: boolean): Promise<Result<Changed>> {
    const { core } = this.loop;
    let left = choice.most ?? Number.POSITIVE_INFINITY;
    const after = ({ done }: Changed) => {
      left -= done;
    };
    return this.#walks(
      choice.queue,
      (clock) => {
        const dead = core.discardDead(choice, CHANGED, clock);
        return waiting ? [dead, core.discardWaiting(choice, CHANGED, clock, () => left)] : [dead];
      },
      after,
    );
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const mayNot = queue === undefined ? undefined : this.loop.core.mayUse(queue);
    const ended = this.loop.watches.isEnded ? DRAINING : undefined;
    const refusal = ended ?? this.#closed() ?? mayNot ?? this.#tooMany(watcher);
    if (refusal !== undefined) return { ok: false, refusal };
    return { ok: true, value: this.loop.watches.add(queue, key, watcher) };
  }

  #tooMany(watcher: Watcher): Refusal | undefined {
    const limit = placesFor(watcher, this.maxWatchers);
    if (this.loop.watches.size < limit) return undefined;
    const description = `no more than ${limit} watch at once (limits.watchers)`;
    return { kind: 'limit', subject: 'watchers', limit, description, retryAfter: 1_000 };
  }

  /** The moment, with what the core cannot know: what the clocks of people show now, and how the disk does. */
  #now(): number {
    const { core, store } = this.loop;
    const now = this.loop.now();
    core.setWallOffset(this.clock.wall() - now);
    const trouble = store?.availability.durableClosed;
    core.diskTrouble = trouble?.kind === 'store_unavailable' ? trouble.description : undefined;
    return now;
  }

  /** Why every call is refused, if so. */
  #closed(): Refusal | undefined {
    return this.loop.store?.availability.closed;
  }

  /** A step that changes something in this queue: resolves when it is on the disk. */
  async #change<T>(queue: string, run: (now: number) => Result<T>): Promise<Result<T>> {
    const refusal = this.loop.store?.availability.refusal(queue);
    return refusal === undefined ? this.#written(queue, this.#step(run)) : { ok: false, refusal };
  }

  /** Walks that change something in this queue, all begun now: resolves when all of it is on the disk. */
  async #walks(
    queue: string,
    begin: (clock: () => number) => readonly Walk[],
    after: (changed: Changed) => void = () => undefined,
  ): Promise<Result<Changed>> {
    const refusal = this.loop.store?.availability.refusal(queue);
    if (refusal !== undefined) return { ok: false, refusal };
    this.#now();
    const walks: Generator<undefined, Changed>[] = [];
    for (const walk of begin(() => this.loop.now())) {
      if (!walk.ok) return walk;
      if (walk.value !== undefined) walks.push(walk.value);
    }
    const all = oneAfterTheOther(walks, after);
    return this.#inSlices(
      all,
      (value) => this.#written(queue, { ok: true, value }),
      () => this.loop.store?.whenWritten(queue),
    );
  }

  async #written<T>(queue: string, result: Result<T>): Promise<Result<T>> {
    const refusal = await this.loop.store?.whenWritten(queue);
    return refusal === undefined ? result : { ok: false, refusal };
  }

  #step<T>(run: (now: number) => T): T {
    const outcome = run(this.#now());
    this.loop.afterStep();
    return outcome;
  }

  /**
   * @param end what is made of the outcome, before anything else happens
   * @param between what the next slice waits for: one that changes something waits until that is written, or has failed. Else one
   *   batch would have all that changed while the one before it was written
   */
  #inSlices<T, R>(
    scan: Generator<undefined, T>,
    end: (outcome: T) => R | Promise<R>,
    between: () => Promise<unknown> | undefined = () => undefined,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      const go = () => {
        try {
          const { done, value } = scan.next();
          const ended = done === true ? { outcome: end(value) } : undefined;
          this.loop.afterStep();
          if (ended !== undefined) resolve(ended.outcome);
          else {
            const before = between();
            if (before === undefined) this.clock.soon(go);
            else void before.then(() => this.clock.soon(go));
          }
        } catch (error) {
          reject(error);
        }
      };
      go();
    });
  }
}

/** @returns how many they changed together */
function* oneAfterTheOther(
  walks: readonly Generator<undefined, Changed>[],
  after: (changed: Changed) => void,
): Generator<undefined, Changed> {
  let all: Changed = { done: 0, chosen: 0 };
  for (const walk of walks) {
    const changed = yield* walk;
    after(changed);
    all = { done: all.done + changed.done, chosen: all.chosen + changed.chosen, asOf: all.asOf ?? changed.asOf };
  }
  return all;
}
