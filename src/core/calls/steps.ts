/** What every call of the core is: one step, begun and finished in one way. */

import type * as model from '../contract/model.js';
import { finishStep, isUnfinished } from '../dispatch/step-end.js';
import { findOrMakeQueue, findQueue, isRefusal } from '../state/queues.js';
import type { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';

export abstract class Steps {
  constructor(protected readonly state: CoreState) {}

  /** Effects from here on do not follow from the step before. */
  protected begin(now: number): void {
    this.state.changes?.begin(now);
  }

  protected finish<T>(outcome: T, now: number): T {
    if (isUnfinished(this.state)) finishStep(this.state, now);
    return outcome;
  }

  protected with<T>(name: string, run: (queue: Queue | undefined) => T, now?: number): model.Result<T> {
    if (now !== undefined) this.begin(now);
    const queue = findQueue(this.state, name);
    if (isRefusal(queue)) return { ok: false, refusal: queue };
    const value = run(queue);
    if (now !== undefined) this.finish(undefined, now);
    return { ok: true, value };
  }

  protected withOpen<T>(name: string, now: number, run: (queue: Queue) => T): model.Result<T> {
    this.begin(now);
    const queue = findOrMakeQueue(this.state, name, now);
    if (isRefusal(queue)) return { ok: false, refusal: queue };
    return this.with(name, () => run(queue), now);
  }
}
