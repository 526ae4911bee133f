/** A folder for some work: gone when that is over, and when the process is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function inFolder<T>(name: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), `keyturn-${name}-`));
  // Processes that were killed just now may still write into it.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
  process.once('exit', remove);
  try {
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}
