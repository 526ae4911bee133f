import type { WorkerCommand } from './command.js';

/** Between two looks at all open calls: with deadlines all over the place, one may be this late. */
const COARSE_MS = 50;

/** When open calls are to be given up. They come and go by the hundred thousand, so that none has a timer of its own. */
export class Deadlines {
  #first = Number.POSITIVE_INFINITY;

  /** No open call is to be given up before. */
  get first(): number {
    return this.#first;
  }

  add({ deadline }: WorkerCommand): void {
    if (deadline < this.#first) this.#first = deadline;
  }

  /** @returns those whose time is over */
  expired(open: Iterable<WorkerCommand>, now: number): readonly WorkerCommand[] {
    if (now < this.#first) return [];
    const expired: WorkerCommand[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const command of open) {
      if (command.abandoned) continue;
      if (command.deadline <= now) expired.push(command);
      else if (command.deadline < next) next = command.deadline;
    }
    this.#first = next === Number.POSITIVE_INFINITY ? next : Math.max(next, now + COARSE_MS);
    return expired;
  }
}
