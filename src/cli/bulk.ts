/** What is done to many, a step at a time: seen on a terminal, and called off by Ctrl-C. */
import type { ChangeBounds, ChangedItems, ItemChoiceCall, Keyturn } from '@keyturn/client';
import { count } from './output.js';
import type { Reasoned } from './reason.js';

export type Step = (
  admin: Keyturn['admin'],
  choice: ItemChoiceCall,
  bounds: ChangeBounds,
  why: Reasoned,
) => Promise<Pick<ChangedItems, 'changed' | 'chosen' | 'asOf'>>;

export interface BulkOutcome {
  readonly changed: number;
  /** Of a dry run: how many it would be. Of one that was called off: how many are left. */
  readonly chosen: number;
  readonly isCalledOff: boolean;
}

/** The sidecar holds its loop for none of them for long; a person sees a step go by in a moment. */
const AT_ONCE = 5_000;

/** What dies again after the first step is not of it: else what fails at once would be tried for ever. */
export async function inSteps(
  step: (choice: ItemChoiceCall, bounds: ChangeBounds) => ReturnType<Step>,
  choice: ItemChoiceCall,
): Promise<BulkOutcome> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop);
  try {
    let changed = 0;
    let part = choice;
    let began: number | undefined;
    for (;;) {
      const { changed: now, chosen, asOf } = await step(part, { limit: AT_ONCE });
      changed += now;
      const left = chosen - now;
      if (left <= 0 || now === 0) return { changed, chosen: left, isCalledOff: false };
      if (process.stderr.isTTY) process.stderr.write(`\r${count(changed)} of ${count(changed + left)}`);
      if (stopping.signal.aborted) return { changed, chosen: left, isCalledOff: true };
      if (began === undefined) began = asOf;
      part = { ...choice, filter: { ...choice.filter, diedBefore: earlier(choice.filter?.diedBefore, began) } };
    }
  } finally {
    process.off('SIGINT', stop);
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  }
}

/** A moment that somebody named may be one to come. */
function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
