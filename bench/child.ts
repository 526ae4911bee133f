/** Runs one row in a process of its own and hands its report to the parent. */

import { ROWS } from './registry.js';
import type { FromChild } from './run-row.js';

const name = process.argv[2] ?? '';
const row = ROWS.get(name);
if (row === undefined || process.send === undefined) throw new Error(`not started by the benchmark: row '${name}'`);

const report = await row.run((progress) => tell({ kind: 'progress', progress }));
tell({ kind: 'report', report });
// What a row still has open (a coordinator's timer) must not keep the process; the channel flushes first.
process.disconnect();
process.exit(0);

function tell(message: FromChild): void {
  process.send?.(message);
}
