import type { ImportMark } from './cluster-store.js';

/** What is none, of whoever wrote it, is one of which rows may count: nobody begins in silence on what is half there. */
export function importMark(text: string): ImportMark {
  try {
    const found: unknown = JSON.parse(text);
    const { from, counts } = { from: undefined, counts: undefined, ...(typeof found === 'object' ? found : {}) };
    if (typeof from === 'string' && typeof counts === 'boolean') return { from, counts };
  } catch {
    // As any other text.
  }
  return { from: 'a data directory', counts: true };
}
