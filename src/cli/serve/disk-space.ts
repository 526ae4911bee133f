/** How large the data file is, and what its device has left. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Surroundings } from '../../observability/process-metrics.js';

/** Unset: it cannot be known now. A scrape must not fail for it. */
export async function diskSpace(dataDir: string): Promise<Surroundings['disk']> {
  try {
    // As the directory itself: without one the library need not be there.
    const { DATA_FILE } = await import('../../local/journal/lmdb/tables.js');
    const path = join(dataDir, DATA_FILE);
    const [{ size }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { fileBytes: size, freeBytes: bavail * bsize };
  } catch {
    return undefined;
  }
}
