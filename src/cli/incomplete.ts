/** What a cluster answers while some of its homes cannot be asked is not complete, and is never told as if it were. */
import type { Unavailable } from '@keyturn/client';
import { harmless } from '../observability/harmless.js';
import { amount } from './output.js';

/** More are much the same. */
const MOST_WHY = 3;

/** Beside the answer, on standard error: who reads the answer by a program sees it all the same. */
export function tellIncomplete(unavailable: readonly Unavailable[]): void {
  if (unavailable.length === 0) return;
  const whys = [...new Set(unavailable.map(({ why }) => why))];
  const lines = whys.slice(0, MOST_WHY).map((why) => `  ${harmless(why)}\n`);
  const rest = whys.length > MOST_WHY ? `  and ${whys.length - MOST_WHY} more: keyturn cluster\n` : '';
  process.stderr.write(
    `This is not complete: ${amount(unavailable.length, 'partition')} of the cluster could not be asked.\n${lines.join('')}${rest}`,
  );
}

/** Of several pages each partition once. */
export function unavailableIn(
  pages: readonly { readonly unavailable: readonly Unavailable[] }[],
): readonly Unavailable[] {
  const all = pages.flatMap(({ unavailable }) => unavailable);
  return [...new Map(all.map((one) => [one.partition, one])).values()];
}
