/** What Node asks when it loads a module. Runs in a thread of its own. */
import type { InitializeHook, LoadHook } from 'node:module';

export interface PutIn {
  /** Of the module, `file:`. */
  readonly url: string;
  readonly text: string;
}

const LOOK_MS = 1_000;

let mutant: PutIn = { url: '', text: '' };

export const initialize: InitializeHook<PutIn> = (data) => {
  mutant = data;
  const parent = process.ppid;
  // The main thread may be in a loop for ever, and who would have ended it may have been killed.
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, LOOK_MS).unref();
};

export const load: LoadHook = (url, context, next) =>
  url === mutant.url ? { format: 'module', source: mutant.text, shortCircuit: true } : next(url, context);
