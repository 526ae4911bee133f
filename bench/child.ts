/** Runs one row in a process of its own and hands its report to the parent. */
import { ROWS } from './registry.js';
import type { FromChild } from './run-row.js';

// Exit, rather than die by a signal or live on without a parent: only then the servers of a row are ended too.
process.once('SIGTERM', () => process.exit(1));
process.once('disconnect', () => process.exit(1));

const name = process.argv[2] ?? '';
const row = ROWS.get(name);
if (row === undefined || process.send === undefined) throw new Error(`not started by the benchmark: row '${name}'`);

const report = await row.run((progress) => void tell({ kind: 'progress', progress }));
await tell({ kind: 'report', report });
// What a row still has open, like the timer of a coordinator, must not keep the process.
process.exit(0);

function tell(message: FromChild): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error) => (error ? reject(error) : resolve()));
  });
}
