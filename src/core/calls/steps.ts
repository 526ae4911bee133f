/**
 * What every call of the core is: one step, begun and finished in one way. Between `begin` and `finish` a call checks
 * and does its work; `finish` starts what that made possible.
 */

import type * as model from '../contract/model.js';
import { finishStep, isUnfinished } from '../dispatch/step-end.js';
import { findOrMakeQueue, findQueue, isRefusal } from '../state/queues.js';
import type { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';

export abstract class Steps {
  constructor(protected readonly state: CoreState) {}

  /**
   * Begins a step: the change log learns the moment. From it on `flush_interval` counts for what the step changes. Where
   * there are several cores it looks at what the others use.
   */
  protected begin(now: number): void {
    this.state.changes?.begin(now);
    this.state.share?.enter();
  }

  /**
   * Ends a step, and hands the outcome through. What waited for a gate, a worker, room or the end of an item, and
   * can go on now, does so here. A step that left nothing of that pays one check.
   */
  protected finish<T>(outcome: T, now: number): T {
    if (isUnfinished(this.state)) finishStep(this.state, now);
    return outcome;
  }

  /**
   * Runs a call on a queue that need not exist: it is not made for that (S26). Refusal: `no_such_queue`, and then
   * nothing has changed.
   *
   * @param now set: the call is a step. Unset: it only looks, so there is nothing to begin or to finish
   */
  protected with<T>(name: string, run: (queue: Queue | undefined) => T, now?: number): model.Result<T> {
    if (now !== undefined) this.begin(now);
    const queue = findQueue(this.state, name);
    if (isRefusal(queue)) return { ok: false, refusal: queue };
    const value = run(queue);
    if (now !== undefined) this.finish(undefined, now);
    return { ok: true, value };
  }

  /** As a step, on a queue that is made if need be (S26). Refusals: `no_such_queue`, and `limit` (`queues`). */
  protected withOpen<T>(name: string, now: number, run: (queue: Queue) => T): model.Result<T> {
    this.begin(now);
    const queue = findOrMakeQueue(this.state, name, now);
    if (isRefusal(queue)) return { ok: false, refusal: queue };
    return this.with(name, () => run(queue), now);
  }
}
