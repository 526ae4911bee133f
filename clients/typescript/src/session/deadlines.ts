import { LONGEST_TIMEOUT_MS } from '../time/clock.js';
import { GRACE_MS, LONGEST_WAIT_MS } from '../words/calls.js';
import type { WorkerCommand } from './command.js';

/** Between two looks at all open calls: with deadlines all over the place, one may be this late. */
const COARSE_MS = 50;

/**
 * When open calls are to be given up. They come and go by the hundred thousand, so that none has a timer of its own.
 *
 * A call may leave its wait to the sidecar, which may be as long as any. It is given so much while there is a sidecar that
 * waits; without one it is nothing but a call that does not come through.
 */
export class Deadlines {
  #first = Number.POSITIVE_INFINITY;

  /** No open call is to be given up before. */
  get first(): number {
    return this.#first;
  }

  /**
   * @param timeout ms; unset: its wait, and the time of the way there and back
   * @param isThere there is a sidecar that was greeted
   */
  begin(command: WorkerCommand, timeout: number | undefined, now: number, isThere: boolean): void {
    const { wait } = command;
    command.waitIsKnown = timeout !== undefined || wait !== undefined;
    const ms = timeout ?? (wait ?? (isThere ? LONGEST_WAIT_MS : 0)) + GRACE_MS;
    this.#set(command, now + Math.min(ms, LONGEST_TIMEOUT_MS));
  }

  /** There is a sidecar. */
  attached(open: Iterable<WorkerCommand>, now: number): void {
    for (const command of open) if (!command.waitIsKnown) this.#set(command, now + LONGEST_WAIT_MS + GRACE_MS);
  }

  /** There is none, or none any more: a second attempt that fails gives no more time. */
  detached(open: Iterable<WorkerCommand>, now: number): void {
    for (const command of open)
      if (!command.waitIsKnown) this.#set(command, Math.min(command.deadline, now + GRACE_MS));
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

  #set(command: WorkerCommand, deadline: number): void {
    command.deadline = deadline;
    if (deadline < this.#first) this.#first = deadline;
  }
}
