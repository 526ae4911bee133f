/** What is different about queues that are spread: said at the start, to whoever looks for an order or a limit that is not there. */
import type { Route } from '../../../cluster/store/cluster-store.js';
import type { Logger } from '../../../observability/logger.js';

/** Of more a sum is told. */
const MOST = 20;

export function tellSpread(routes: Readonly<Record<string, Route>>, log: Pick<Logger, 'info'>): void {
  const spread = Object.entries(routes).filter(([, route]) => route.spread > 1);
  for (const [queue, route] of spread.slice(0, MOST))
    log.info({ queue, parts: route.spread, more: TOLD }, 'a queue is spread');
  if (spread.length > MOST) log.info({ queues: spread.length - MOST }, 'more queues are spread');
}

const TOLD =
  'order and exclusion are per key, as ever; rate, max_in_flight and all that counts per queue is shared out over the parts; nothing waits for its items (after)';
