/** What hinders a queue from being routed anew, over all of its partitions, and what is to be done about it. */

import { pastedCommand } from '../../core/contract/pasted-command.js';
import type { QueueRemains } from '../../core/contract/views.js';

/** Precondition: there is one at least. */
export function sumOf(all: readonly QueueRemains[]): QueueRemains {
  return all.reduce((sum, one) => ({
    items: sum.items + one.items,
    turns: sum.turns + one.turns,
    callers: sum.callers + one.callers,
    deadLetters: sum.deadLetters + one.deadLetters,
    keys: sum.keys + one.keys,
    dependants: sum.dependants + one.dependants,
    remembered: sum.remembered + one.remembered,
    paused: sum.paused || one.paused,
    limits: sum.limits || one.limits,
  }));
}

/** For people. */
export function remainsText(remains: QueueRemains, queue: string): string {
  const { items, turns, callers, deadLetters, keys, dependants, remembered, paused, limits } = remains;
  const counted: readonly (readonly [number, string, string])[] = [
    [items, 'item', 'items'],
    [turns, 'live turn', 'live turns'],
    [callers, 'caller that waits', 'callers that wait'],
    [deadLetters, 'dead letter', 'dead letters'],
    [keys, 'key that is parked or delayed', 'keys that are parked or delayed'],
    [dependants, 'item of it that others wait for', 'items of it that others wait for'],
    [remembered, 'result or idempotency key that is remembered', 'results and idempotency keys that are remembered'],
  ];
  const found = counted.flatMap(([count, one, many]) => (count === 0 ? [] : `${count} ${count === 1 ? one : many}`));
  if (paused) found.push('that it is paused');
  if (limits) found.push('limits that were set');
  return `it has ${found.join(', ')}; ${adviceFor(remains, queue)}`;
}

function adviceFor({ items, turns, callers, deadLetters, keys, dependants }: QueueRemains, queue: string): string {
  const isBusy = items + turns + callers + dependants > 0;
  if (isBusy || deadLetters + keys > 0) {
    const drain = 'stop what submits to it, and let its workers finish';
    const rest = `"keyturn dead-letters" and "${pastedCommand(['keys'], [queue])}" show what stands still`;
    return `${isBusy ? drain : rest}${isBusy && deadLetters + keys > 0 ? `; ${rest}` : ''}; then try again`;
  }
  return 'wait until that is over or take it back, or let it be forgotten (--accept-loss): a Submit that is repeated would be done again then';
}
