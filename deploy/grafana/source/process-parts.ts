/** What the dashboards Overview and Process both ask of a process. */
import type { Threshold } from './panel.js';
import { series } from './queries.js';

/**
 * A matcher. Calls that are streams last as long as their client likes: a percentile of them says nothing, and hides
 * the calls that are slow.
 */
export const NOT_STREAMS = 'method!~".*/(Session|WatchEvents|Watch|ServerReflectionInfo)"';

export const LOOP_LAG: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: 0.1, color: 'orange' },
  { from: 0.5, color: 'red' },
];

const DAY = 86_400;

export const DAYS_LEFT: readonly Threshold[] = [
  { from: Number.NEGATIVE_INFINITY, color: 'red' },
  { from: 3 * DAY, color: 'orange' },
  { from: 14 * DAY, color: 'green' },
];

/** Until the certificate ends; below 0 since it did. */
export function secondsLeft(): string {
  return `${series('keyturn_certificate_end_timestamp_seconds')} - time()`;
}
