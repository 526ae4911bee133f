/** Compares one row with that of another commit, in a process of its own. Arguments: the row, the other's `dist/`. */
import { ROWS } from '../registry.js';
import { tellParent } from '../tell-parent.js';
import { compare } from './compare.js';
import { LAPS_SECONDS } from './limits.js';
import { TODAY } from './side.js';

const [name = '', other = ''] = process.argv.slice(2);
const sideOf = ROWS.get(name)?.side;
if (sideOf === undefined) throw new Error(`not started by the benchmark: row '${name}' has no sides`);

const say = (progress: string) => void tellParent({ kind: 'progress', progress });
const comparisons = await compare(
  () => sideOf(TODAY),
  () => sideOf(new URL(other)),
  LAPS_SECONDS,
  say,
);
await tellParent({ kind: 'report', report: comparisons });
// What a row still has open, like the timer of a coordinator, must not keep the process.
process.exit(0);
