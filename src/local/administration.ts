import type {
  AdminAnswer,
  AdminFunctions,
  Administration,
  AdminKind,
  AdminRequest,
  Changed,
  KeyExplanation,
  Refusal,
  Result,
  Watch,
  Watcher,
} from '../coordinator.js';
import { ADMIN_CALLS, isChange, placesFor } from '../coordinator.js';
import { reportOf } from '../core/calls/admin/get-item.js';
import { DRAINING } from '../core/contract/refusals.js';
import type { Walk } from '../core/core.js';
import type { Clock } from './clock.js';
import type { Loop } from './loop.js';

/** Lanes or letters looked at in one go: a few milliseconds. */
const SLICE = 5_000;
/** Items removed or put back in one go: about as long. */
const CHANGED = 1_000;

/** The calls of operators, one function for each kind. What has to look at everything does so in slices, so that workers do not notice. */
export class LocalAdministration implements Administration {
  constructor(
    private readonly loop: Loop,
    private readonly clock: Clock,
    private readonly maxWatchers: number,
  ) {}

  async ask<K extends AdminKind>(kind: K, request: AdminRequest<K>): Promise<Result<AdminAnswer<K>>> {
    const { queue } = ADMIN_CALLS[kind].place(request) ?? {};
    const availability = this.loop.store?.availability;
    const isWrite = queue !== undefined && isChange(kind, request);
    const refusal = isWrite ? availability?.refusal(queue) : availability?.closed;
    return refusal === undefined ? this.#calls[kind](request) : { ok: false, refusal };
  }

  readonly #calls: AdminFunctions = {
    listQueues: async (request) => ({ ok: true, value: this.loop.core.listQueues(request, this.#now()) }),
    listSessions: async (request) => {
      this.#now();
      return { ok: true, value: this.loop.core.listSessions(request) };
    },
    listKeys: async (request) => {
      this.#now();
      const scan = this.loop.core.listKeys(request, SLICE);
      if (!scan.ok) return scan;
      const value =
        scan.value === undefined ? { keys: [], nextPageToken: '' } : await this.#inSlices(scan.value, (page) => page);
      return { ok: true, value };
    },
    explainKey: async ({ queue, key }) => {
      const scan = key === '' ? this.loop.core.explainKeyless(queue, SLICE, () => this.#now()) : undefined;
      if (scan?.ok === false) return scan;
      if (scan?.value !== undefined) {
        return { ok: true, value: this.#traced(await this.#inSlices(scan.value, (report) => report)) };
      }
      const found = this.#step((now) => this.loop.core.explainKey(queue, key, now));
      return found.ok ? { ok: true, value: this.#traced(found.value) } : found;
    },
    getItem: async ({ queue, itemId, withPayload }) => {
      const found = this.#step((now) => this.loop.core.getItem(queue, itemId, now));
      if (!found.ok) return found;
      const whole = this.loop.store?.itemReport(found.value) ?? found;
      return whole.ok ? { ok: true, value: reportOf(whole.value, withPayload) } : whole;
    },
    evictHolder: ({ queue, key, discard }) =>
      this.#change(queue, (now) => this.loop.core.evictHolder(queue, key, now, discard)),
    retryNow: (request) => this.#change(request.queue, (now) => this.loop.core.retryNow(request, now)),
    resumeKey: ({ queue, key }) => this.#change(queue, (now) => this.loop.core.resumeKey(queue, key, now)),
    pauseQueue: ({ queue }) => this.#change(queue, (now) => this.loop.core.pauseQueue(queue, now)),
    resumeQueue: ({ queue }) => this.#change(queue, (now) => this.loop.core.resumeQueue(queue, now)),
    setLimits: async (request) => {
      const { queue, change } = request;
      const set = (now: number) => this.loop.core.setLimits(queue, change, now);
      return isChange('setLimits', request) ? this.#change(queue, set) : this.#step(set);
    },
    listDeadLetters: async (request) => {
      this.#now();
      const scan = this.loop.core.listDeadLetters(request, SLICE);
      if (!scan.ok) return scan;
      if (scan.value === undefined) return { ok: true, value: { deadLetters: [], nextPageToken: '' } };
      return this.#inSlices(scan.value, (page) => this.loop.store?.page(page) ?? { ok: true, value: page });
    },
    redrive: (choice) => this.#walks(choice.queue, (clock) => [this.loop.core.redrive(choice, CHANGED, clock)]),
    discard: (choice) => {
      const { core } = this.loop;
      let left = choice.most ?? Number.POSITIVE_INFINITY;
      const after = ({ done }: Changed) => {
        left -= done;
      };
      return this.#walks(
        choice.queue,
        (clock) => {
          const dead = core.discardDead(choice, CHANGED, clock);
          return choice.waiting ? [dead, core.discardWaiting(choice, CHANGED, clock, () => left)] : [dead];
        },
        after,
      );
    },
  };

  #traced(view: KeyExplanation): KeyExplanation {
    return this.loop.store?.explained(view) ?? view;
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const mayNot = queue === undefined ? undefined : this.loop.core.mayUse(queue);
    const ended = this.loop.watches.isEnded ? DRAINING : undefined;
    const refusal = ended ?? this.loop.store?.availability.closed ?? mayNot ?? this.#tooMany(watcher);
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

  /** A step that changes something in this queue: resolves when it is on the disk. */
  async #change<T>(queue: string, run: (now: number) => Result<T>): Promise<Result<T>> {
    return this.#written(queue, this.#step(run));
  }

  /** Walks that change something in this queue, all begun now: resolves when all of it is on the disk. */
  async #walks(
    queue: string,
    begin: (clock: () => number) => readonly Walk[],
    after: (changed: Changed) => void = () => undefined,
  ): Promise<Result<Changed>> {
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
