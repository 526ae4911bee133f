import { alignColumns, count, percent } from '../output.js';
import type { ReplaySummary } from '../replay/replay-summary.js';

const WIDTH = 50;

/** A share as a bar of blocks. */
function bar(share: number, width = WIDTH): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** What coalescing did. */
export function coalescingPicture({ lines, accepted, declined, saved, ...rest }: ReplaySummary, key: string): string {
  const share = lines === 0 ? 0 : accepted / lines;
  return alignColumns([
    ['  asked for', bar(lines === 0 ? 0 : 1), count(lines)],
    ['  processed', bar(share), count(accepted)],
    ['  not needed', bar(1 - share), `${count(declined)}: ${percent(saved)} of the work saved`],
  ]).concat(checks(rest, `one ${key}`), waits(rest));
}

/** What keeping the order did. */
export function orderPicture({ lines, accepted, waited, ...rest }: ReplaySummary, key: string): string {
  const part = (value: number) => (lines === 0 ? 0 : value / lines);
  return alignColumns([
    ['  handed over', bar(part(lines)), count(lines)],
    ['  processed', bar(part(accepted)), `${count(accepted)}: none left out`],
    ['  had to wait', bar(part(waited)), `${count(waited)} for an earlier one of their ${key}, the others did not`],
  ]).concat(checks(rest, `one ${key}`), waits(rest));
}

type Seen = Pick<
  ReplaySummary,
  'max_at_once' | 'order_violations' | 'wait_p50_ms' | 'wait_p99_ms' | 'seconds' | 'class'
>;

function checks({ max_at_once, order_violations }: Seen, what: string): string {
  const mark = (right: boolean) => (right ? '✔' : '✘');
  return (
    `  ${mark(max_at_once <= 1)} most workers seen at once on ${what}: ${max_at_once}\n` +
    `  ${mark(order_violations === 0)} requests seen out of order: ${order_violations}\n`
  );
}

function waits({ wait_p50_ms, wait_p99_ms, seconds, class: repetition }: Seen): string {
  return `  wait p50 ${wait_p50_ms} ms, p99 ${wait_p99_ms} ms; ${seconds} s in all; repetition: ${repetition}\n`;
}
