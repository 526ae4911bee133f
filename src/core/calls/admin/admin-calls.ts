/** The calls of people: they look, and change what runs. */

import type * as model from '../../contract/model.js';
import { badPageToken } from '../../contract/refusals.js';
import type * as views from '../../contract/views.js';
import { currentLane } from '../../lane/current-lanes.js';
import type { Queue } from '../../state/records.js';
import { Steps } from '../steps.js';
import { discardDead, isLettersToken, listDeadLetters, redrive } from './dead-letters.js';
import { discardWaiting } from './discard-waiting.js';
import { explainKey } from './explain.js';
import { explainKeyless } from './explain-keyless.js';
import { listQueues } from './list-queues.js';
import { isKeysToken, listKeys } from './listing.js';
import { evictHolder, limitsOf, pauseQueue, type Resumed, resumeKey, resumeQueue, setLimits } from './operate.js';
import { retryNow } from './retry-now.js';

/** A walk that returns how many it changed. Unset: there is no such queue yet. */
export type Walk = model.Result<Generator<undefined, number> | undefined>;

export abstract class AdminCalls extends Steps {
  listQueues(request: views.ListQueuesRequest, now: number): views.QueuePage {
    return listQueues(this.state, request, now);
  }

  /** In slices: see `listing.ts`. Unset: there is no such queue yet. */
  listKeys(
    request: views.ListKeysRequest,
    slice: number,
  ): model.Result<Generator<undefined, views.KeyPage> | undefined> {
    if (!isKeysToken(request.pageToken)) return badPageToken(request.pageToken);
    return this.with(request.queue, (queue) => queue && listKeys(this.state, queue, request, slice));
  }

  /** A step like any other: what is over by the clock happens first (S1). */
  explainKey(queue: string, key: string, now: number): model.Result<views.KeyExplanation> {
    const upToDate = (found: Queue | undefined) => {
      if (found !== undefined) currentLane(this.state, found, key, now);
      return explainKey(this.state, found, key, now);
    };
    return this.with(queue, upToDate, now);
  }

  /** An empty key: all items without one, in slices. Unset: there is no such queue yet. */
  explainKeyless(
    queue: string,
    size: number,
    clock: () => number,
  ): model.Result<Generator<undefined, views.KeyExplanation> | undefined> {
    return this.with(queue, (found) => found && explainKeyless(this.state, found, { size, clock }));
  }

  evictHolder(queue: string, key: string, now: number): model.Result<views.EvictionView> {
    return this.with(queue, (found) => evictHolder(this.state, found, key, now), now);
  }

  resumeKey(queue: string, key: string, now: number): model.Result<Resumed> {
    return this.with(queue, (found) => resumeKey(this.state, found, key, now), now);
  }

  retryNow(request: views.RetryNowRequest, now: number): model.Result<views.RetryNowView> {
    const outcome = this.with(request.queue, (found) => retryNow(this.state, found, request, now), now);
    if (!outcome.ok) return outcome;
    return 'kind' in outcome.value ? { ok: false, refusal: outcome.value } : { ok: true, value: outcome.value };
  }

  pauseQueue(queue: string, now: number): model.Result<void> {
    return this.withOpen(queue, now, pauseQueue);
  }

  resumeQueue(queue: string, now: number): model.Result<void> {
    return this.with(queue, (found) => found && resumeQueue(this.state, found), now);
  }

  setLimits(queue: string, change: views.LimitsChange, now: number): model.Result<views.LimitsView> {
    if (change.rate === undefined && change.maxInFlight === undefined)
      return this.with(queue, (found) => limitsOf(this.state, found));
    return this.withOpen(queue, now, (found) => setLimits(this.state, found, change, now));
  }

  /** In slices: see `dead-letters.ts`. Unset: there is no such queue yet. */
  listDeadLetters(
    request: views.ListDeadLettersRequest,
    slice: number,
  ): model.Result<Generator<undefined, views.DeadLetterPage> | undefined> {
    if (!isLettersToken(request.pageToken)) return badPageToken(request.pageToken);
    return this.with(request.queue, (found) => found && listDeadLetters(this.state, found, request, slice));
  }

  /** In slices, each of which is a step. */
  redrive(choice: views.ItemChoice, size: number, clock: () => number): Walk {
    return this.#walk(choice.queue, clock, (found) => redrive(this.state, found, choice, { size, clock }));
  }

  /** In slices, each of which is a step. */
  discardDead(choice: views.ItemChoice, size: number, clock: () => number): Walk {
    return this.#walk(choice.queue, clock, (found) => discardDead(this.state, found, choice, { size, clock }));
  }

  /** In slices, each of which is a step. What is submitted from now on stays, whenever the first one is taken (S88). */
  discardWaiting(choice: views.ItemChoice, size: number, clock: () => number): Walk {
    const { itemSeq: newest } = this.state;
    const scan = (found: Queue) => discardWaiting(this.state, found, choice, newest, { size, clock });
    return this.#walk(choice.queue, clock, scan);
  }

  #walk(queue: string, clock: () => number, scan: (found: Queue) => Generator<undefined, number>): Walk {
    return this.with(queue, (found) => found && this.#inSteps(scan(found), clock));
  }

  /** What others did between two slices has nothing to do with the next one. */
  *#inSteps<T>(scan: Generator<undefined, T>, clock: () => number): Generator<undefined, T> {
    for (;;) {
      this.begin(clock());
      const { done, value } = scan.next();
      this.finish(undefined, clock());
      if (done === true) return value;
      yield;
    }
  }
}
