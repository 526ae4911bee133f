/**
 * The calls of people: they look, and change what runs.
 *
 * A call that has to look at very many lanes or items returns a generator. Whoever runs it (`local/administration.ts`)
 * takes one slice after the other, and lets others run between two slices. A slice is bounded by how many entries it
 * looks at, so workers do not notice such a call.
 *
 * A queue that does not exist is answered as an empty one; only `pauseQueue` and a `setLimits` with a change make one
 * (S26). Where there may be no queue of that name every call but `listQueues` is refused: `no_such_queue`.
 */

import type * as admin from '../../contract/admin-calls.js';
import type * as choices from '../../contract/item-choice.js';
import type * as model from '../../contract/model.js';
import { badPageToken } from '../../contract/refusals.js';
import type * as sessions from '../../contract/session-views.js';
import type * as views from '../../contract/views.js';
import { currentLane } from '../../lane/current-lanes.js';
import type { Queue } from '../../state/records.js';
import { LeaderCalls } from '../leader-calls.js';
import { discardDead, isLettersToken, listDeadLetters } from './dead-letters.js';
import { discardWaiting } from './discard-waiting.js';
import { explainKey } from './explain.js';
import { explainKeyless } from './explain-keyless.js';
import { getItem } from './get-item.js';
import { listQueues } from './list-queues.js';
import { listSessions } from './list-sessions.js';
import { isKeysToken, listKeys } from './listing.js';
import { evictHolder, limitsOf, pauseQueue, resumeKey, resumeQueue, setLimits } from './operate.js';
import { redrive } from './redrive.js';
import { retryNow } from './retry-now.js';
import { forget, receive, vacate } from './vacate.js';

/** A walk that returns how many it changed. Unset: there is no such queue yet. */
export type Walk = model.Result<Generator<undefined, choices.Changed> | undefined>;

export abstract class AdminCalls extends LeaderCalls {
  /** Looks at every name in one go: `limits.queues` bounds them. It is no step: no lane is brought up to date. */
  listQueues(request: views.ListQueuesRequest, now: number): views.QueuePage {
    return listQueues(this.state, request, now);
  }

  /** Looks at every id in one go, as listQueues does. It is no step. */
  listSessions(request: sessions.ListSessionsRequest): sessions.SessionPage {
    return listSessions(this.state, request);
  }

  /**
   * In slices of so many lanes: see `listing.ts`. Unset: there is no such queue yet. No slice is a step: states are
   * listed as they were found, also where something is over by the clock. Refusal: `bad_request` for a page token of no
   * answer.
   */
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
      return explainKey(this.state, queue, found, key, now);
    };
    return this.with(queue, upToDate, now);
  }

  /** What its key is at is brought up to date for it. Nothing is read from a disk: `stored` says what is there. */
  getItem(queue: string, id: string, now: number): model.Result<views.ItemReport> {
    const upToDate = (found: Queue | undefined) => {
      const item = found?.items.get(id);
      if (found !== undefined && item !== undefined && item.lane.key !== '')
        currentLane(this.state, found, item.lane.key, now);
      return getItem(this.state, queue, found, id, now);
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

  /** The holder loses its turn; what it carried goes back. A key without a holder is no error. */
  evictHolder(queue: string, key: string, now: number, discard = false): model.Result<views.EvictionView> {
    return this.with(queue, (found) => evictHolder(this.state, found, key, discard, now), now);
  }

  /**
   * A parked key goes on. The empty key: all parked items without a key (S23). A key that is not parked is no error.
   */
  resumeKey(queue: string, key: string, now: number): model.Result<admin.Resumed> {
    return this.with(queue, (found) => resumeKey(this.state, found, key, now), now);
  }

  /** Ends what only time keeps back (S120). A queue that does not exist is refused: there is nothing to end in it. */
  retryNow(request: views.RetryNowRequest, now: number): model.Result<views.RetryNowView> {
    const outcome = this.with(request.queue, (found) => retryNow(this.state, found, request, now), now);
    if (!outcome.ok) return outcome;
    return 'kind' in outcome.value ? { ok: false, refusal: outcome.value } : { ok: true, value: outcome.value };
  }

  /**
   * No turn of the queue starts from now on. The queue is made if need be: it is paused before its first item comes.
   */
  pauseQueue(queue: string, now: number): model.Result<void> {
    return this.withOpen(queue, now, pauseQueue);
  }

  /** Makes no queue: one that does not exist is not paused (S127). */
  resumeQueue(queue: string, now: number): model.Result<void> {
    return this.with(queue, (found) => found && resumeQueue(this.state, found), now);
  }

  /** Without a change it is a question: it makes no queue and is no step (S127). */
  setLimits(queue: string, change: views.LimitsChange, now: number): model.Result<views.LimitsView> {
    if (change.rate === undefined && change.maxInFlight === undefined)
      return this.with(queue, (found) => limitsOf(this.state, found));
    return this.withOpen(queue, now, (found) => setLimits(this.state, found, change, now));
  }

  /** In slices of so many letters: see `dead-letters.ts`. Unset: there is no such queue yet. No slice is a step. */
  listDeadLetters(
    request: choices.ListDeadLettersRequest,
    slice: number,
  ): model.Result<Generator<undefined, views.DeadLetterPage> | undefined> {
    if (!isLettersToken(request.pageToken)) return badPageToken(request.pageToken);
    return this.with(request.queue, (found) => found && listDeadLetters(this.state, found, request, slice));
  }

  /** In slices, each of which is a step. */
  redrive(choice: choices.ItemChoice, size: number, clock: () => number): Walk {
    return this.#walk(choice.queue, clock, (found) => redrive(this.state, found, choice, { size, clock }));
  }

  /** In slices, each of which is a step. */
  discardDead(choice: choices.ItemChoice, size: number, clock: () => number): Walk {
    return this.#walk(choice.queue, clock, (found) => discardDead(this.state, found, choice, { size, clock }));
  }

  /** In slices, each of which is a step. What is submitted from now on stays, whenever the first one is taken (S88). */
  discardWaiting(
    choice: choices.ItemChoice,
    size: number,
    clock: () => number,
    most = () => choice.most ?? Number.POSITIVE_INFINITY,
  ): Walk {
    const { itemSeq: newest } = this.state;
    const scan = (found: Queue) => discardWaiting(this.state, found, choice, newest, { size, clock }, most);
    return this.#walk(choice.queue, clock, scan);
  }

  /**
   * A queue leaves this partition, if nothing of it is here; else nothing changes. From then on calls about it are refused with
   * `refusal`, until {@link receive}.
   * @returns what is here; unset: nothing, and it has left
   */
  vacate(queue: string, acceptLoss: boolean, refusal: model.Refusal, now: number): views.QueueRemains | undefined {
    this.begin(now);
    return this.finish(vacate(this.state, queue, acceptLoss, refusal, now), now);
  }

  /** Calls about it are refused, whatever of it is here. */
  putAway(queue: string, refusal: model.Refusal): void {
    this.state.away.set(queue, refusal);
  }

  /** It has left for elsewhere: what was only remembered of it goes. */
  forget(queue: string, now: number): void {
    this.begin(now);
    forget(this.state, queue);
    this.finish(undefined, now);
  }

  /** Whether anything of it is here. */
  has(queue: string): boolean {
    return this.state.queues.has(queue);
  }

  /**
   * A queue is routed here. Where it was, tokens were given up to this one.
   */
  receive(queue: string, above: number, now: number): void {
    this.begin(now);
    this.state.tokens.raiseAbove(above);
    receive(this.state, queue, now);
    this.finish(undefined, now);
  }

  /** No larger token was given. */
  get lastToken(): number {
    return this.state.tokens.last;
  }

  /** @returns the walk, not begun yet: nothing changes before its first slice is taken */
  #walk(queue: string, clock: () => number, scan: (found: Queue) => Generator<undefined, choices.Changed>): Walk {
    return this.with(queue, (found) => found && this.#inSteps(scan(found), clock));
  }

  /**
   * Makes each slice a step of its own: others run between two slices. What starts at the end of a slice starts
   * at the moment of that end: the clock is asked anew for it.
   */
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
