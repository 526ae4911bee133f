/** Tasks that run from the last to the first when a test ends: a sidecar stops before the store that it uses. */
import type { TestContext } from 'node:test';

export interface Backwards {
  after(task: () => Promise<void> | void): void;
}

export function backwards(t: Pick<TestContext, 'after'>): Backwards {
  const tasks: (() => Promise<void> | void)[] = [];
  t.after(async () => {
    for (const task of tasks.reverse()) await task();
  });
  return { after: (task) => void tasks.push(task) };
}
