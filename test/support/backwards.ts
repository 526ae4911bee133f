/** Tasks that run from the last to the first when a test ends: a sidecar stops before the store that it uses. */
import type { TestContext } from 'node:test';

export interface Backwards {
  after(task: () => unknown): void;
}

export function backwards(t: Pick<TestContext, 'after'>): Backwards {
  const tasks: (() => unknown)[] = [];
  t.after(async () => {
    const errors: unknown[] = [];
    // One that fails keeps no server running.
    for (const task of tasks.reverse()) await (async () => task())().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  });
  return { after: (task) => void tasks.push(task) };
}
