/** What Node asks when it loads a module. Runs in a thread of its own. */
import type { InitializeHook, LoadHook } from 'node:module';

export interface PutIn {
  /** Of the module, `file:`. */
  readonly url: string;
  readonly text: string;
}

let mutant: PutIn = { url: '', text: '' };

export const initialize: InitializeHook<PutIn> = (data) => {
  mutant = data;
};

export const load: LoadHook = (url, context, next) =>
  url === mutant.url ? { format: 'module', source: mutant.text, shortCircuit: true } : next(url, context);
