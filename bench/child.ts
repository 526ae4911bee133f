/** Runs one row in a process of its own and hands its report to the parent. */
import { mustHaveIntervals } from './measure.js';
import { ROWS } from './registry.js';
import { tellParent } from './tell-parent.js';

const name = process.argv[2] ?? '';
const row = ROWS.get(name);
if (row === undefined) throw new Error(`not started by the benchmark: row '${name}'`);

const report = await row.run((progress) => void tellParent({ kind: 'progress', progress }));
mustHaveIntervals(report.figures);
await tellParent({ kind: 'report', report });
// What a row still has open, like the timer of a coordinator, must not keep the process.
process.exit(0);
