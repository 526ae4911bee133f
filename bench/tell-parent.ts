import type { FromChild } from './run-row.js';

// Exit, rather than die by a signal or live on without a parent: only then the servers of a row are ended too.
process.once('SIGTERM', () => process.exit(1));
process.once('disconnect', () => process.exit(1));

/** To be called in a process that the benchmark started. */
export function tellParent<Report>(message: FromChild<Report>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (process.send === undefined) throw new Error('not started by the benchmark');
    process.send(message, undefined, {}, (error) => (error ? reject(error) : resolve()));
  });
}
