import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest pause while `goesOn`, ms: between two turns of the event loop, or as Node's own monitor sees it. */
export async function watchLoop(goesOn: () => boolean): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  let longest = 0;
  let last = performance.now();
  while (goesOn()) {
    await nextTurn();
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  monitor.disable();
  return Math.max(longest, monitor.max / 1e6);
}
