/** The library in which the journal is kept, alone, in a process of its own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Heap } from '../heaps.js';

export async function startLmdb(directory: string, records: number, inFlight: number): Promise<Heap> {
  const script = fileURLToPath(new URL('./bare-lmdb.js', import.meta.url));
  const child = fork(script, [directory, String(records), String(inFlight)], { execArgv: [] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  await next(child);
  return {
    async lap() {
      child.send('lap');
      const rate = await next(child);
      if (typeof rate !== 'number') throw new Error(`a lap answered ${String(rate)}`);
      return rate;
    },
    async close() {
      process.off('exit', end);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** What it says next. Rejects when it ends instead. */
async function next(child: ReturnType<typeof fork>): Promise<unknown> {
  const ended = new AbortController();
  const onExit = (code: number | null) => ended.abort(new Error(`bare lmdb ended with ${code}`));
  child.once('exit', onExit);
  try {
    const [said]: unknown[] = await once(child, 'message', { signal: ended.signal });
    return said;
  } finally {
    child.off('exit', onExit);
  }
}
