/** Work for which nobody waits: after each slice the event loop goes on, and calls are answered. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** ms. A step more may be begun by then. */
const SLICE = 1;
/** However quick they are. */
const MOST_STEPS = 64;

export async function inSlices<T>(steps: Iterator<unknown, T>): Promise<T> {
  let began = performance.now();
  for (let done = 1; ; done += 1) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (done % MOST_STEPS !== 0 && performance.now() - began < SLICE) continue;
    await nextTurn();
    began = performance.now();
  }
}
