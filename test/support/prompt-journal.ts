/**
 * For tests that look at answers right after their calls: a journal whose writes are done when they are asked for, and a
 * clock whose `soon` is at once. What waits for the disk is then answered before the call returns.
 */
import type { RowChange } from '../../src/core/contract/rows.js';
import type { Clock } from '../../src/local/clock.js';
import type { Journal } from '../../src/local/journal/journal.js';
import { MemoryDisk } from './memory-journal.js';

export interface PromptJournal extends Journal {
  readonly disk: MemoryDisk;
}

export function promptJournal(disk = new MemoryDisk()): PromptJournal {
  const journal = disk.open();
  return {
    disk,
    before: journal.before,
    read: () => journal.read(),
    write(changes: readonly RowChange[], at: number): Promise<void> {
      disk.apply(changes, at);
      return new Done((resolve) => resolve(undefined));
    },
    content: (seq) => journal.content(seq),
    close: () => journal.close(),
  };
}

/** A promise that calls back within `then`, instead of in a turn of its own. */
export class Done extends Promise<undefined> {
  static override get [Symbol.species]() {
    return Promise;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise is what it is, only an earlier one
  override then<A = undefined, B = never>(
    onFulfilled?: ((value: undefined) => A | PromiseLike<A>) | null,
  ): Promise<A | B> {
    return new Promise((resolve) => {
      if (onFulfilled) resolve(onFulfilled(undefined));
    });
  }
}

/** One after the other: a task that wants another one soon is finished first. */
export function promptClock(clock: Clock): Clock {
  const tasks: (() => void)[] = [];
  let running = false;
  return {
    now: () => clock.now(),
    wall: () => clock.wall(),
    after: (ms, task) => clock.after(ms, task),
    soon(task) {
      tasks.push(task);
      if (running) return;
      running = true;
      try {
        for (let next = tasks.shift(); next !== undefined; next = tasks.shift()) next();
      } finally {
        running = false;
      }
    },
  };
}
