/** How many files the system lets this process open: each connection needs one. */
import { readFile } from 'node:fs/promises';
import type { Logger } from '../../observability/logger.js';

/** What is open beside connections of clients: code, data directory, HTTP, the console, connections with a store and other sidecars. */
const OTHERS = 200;

/** Of this process. Empty: not on Linux. */
function ownLimits(): Promise<string> {
  return readFile('/proc/self/limits', 'utf8').catch(() => '');
}

/** Warns where `connections` (`limits.connections`) clients would not find a file each. */
export async function warnOfFewFiles(
  connections: number,
  log: Pick<Logger, 'warn'>,
  limits: () => Promise<string> = ownLimits,
): Promise<void> {
  const [, soft] = /^Max open files\s+(\d+)\s/m.exec(await limits()) ?? [];
  const needed = connections + OTHERS;
  if (soft === undefined || Number(soft) >= needed) return;
  log.warn(
    { open_files: Number(soft), needed, connections },
    'this process may open too few files for limits.connections',
  );
}
