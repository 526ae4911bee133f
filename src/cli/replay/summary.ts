import type { RepetitionClass } from '../../core/items/repetition.js';
import { alignColumns, amount, count, percent } from '../output.js';
import type { ReplaySummary } from './replay-summary.js';
import type { Tally } from './tally.js';

/** What a replay must not show, each in one sentence. */
export function findProblems(summary: ReplaySummary, tally: Tally): readonly string[] {
  const { lines, accepted, declined, max_at_once, order_violations } = summary;
  const { ledger, lost } = tally;
  const found: (string | false)[] = [
    max_at_once > 1 && `${max_at_once} workers were at once on one key`,
    order_violations > 0 && `${amount(order_violations, 'line')} started after a later line of the same key`,
    accepted + declined !== lines && `accepted ${accepted} + declined ${declined} is not lines ${lines}`,
    ledger.lines !== accepted && `the workers began ${amount(ledger.lines, 'line')}, but ${accepted} were accepted`,
    ledger.repeats > lost && `${amount(ledger.repeats, 'line')} began again, but ${amount(lost, 'turn')} got lost`,
    ledger.open > 0 && `workers never left ${amount(ledger.open, 'key')}`,
    lost > 0 && `${amount(lost, 'turn')} got lost while the worker was at work`,
  ];
  return found.filter((problem) => problem !== false);
}

const CLASSES: Readonly<Record<RepetitionClass, string>> = {
  none: 'none: no key repeats',
  sparse: 'sparse: keys repeat, but mostly too far apart for two workers to meet',
  high: 'high: at least half of the lines have a key on which two workers would meet',
};

/** The summary as a table for people. */
export function summaryTable(summary: ReplaySummary): string {
  const { lines, accepted, waited, declined, saved } = summary;
  return alignColumns([
    ['lines', count(lines)],
    ['accepted', `${count(accepted)}  processed, one worker per key at a time`],
    ['waited', `${count(waited)}  found somebody before them on their key`],
    ['declined', `${count(declined)}  not needed: ${percent(saved)} of the work saved`],
    ['wait p50, p99', `${summary.wait_p50_ms} ms, ${summary.wait_p99_ms} ms  from arrival to turn`],
    ['max at once', `${summary.max_at_once}  workers seen on one key (must be 1)`],
    ['order violations', `${summary.order_violations}  (must be 0)`],
    ['class', CLASSES[summary.class]],
    ['seconds', `${summary.seconds}`],
  ]);
}
