/** Every process that the driver started and that has not ended. None outlives it. */
import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

export function watched<C extends ChildProcess>(child: C): C {
  children.add(child);
  child.once('exit', () => void children.delete(child));
  return child;
}
