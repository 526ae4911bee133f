/** What the dashboards Overview and Process both ask of a process. */
import type { Query, Threshold } from './panel.js';
import { orZero, series } from './queries.js';

/** How many sidecars Prometheus does not reach, and how many take no work. */
export const NOT_SERVING: readonly Query[] = [
  { expr: orZero(`count(${series('up')} == 0)`), name: 'down' },
  { expr: orZero(`count(${series('keyturn_ready')} == 0)`), name: 'not ready' },
];

/**
 * A matcher. Calls that are streams last as long as their client likes: a percentile of them says nothing, and hides
 * the calls that are slow.
 */
export const NOT_STREAMS = 'method!~".*/(Session|WatchEvents|Watch|ServerReflectionInfo)"';

/** `EnQueue` instead of `/keyturn.v1.CoordinatorService/EnQueue`: a legend has no room for more. */
export function byShortMethod(expression: string): string {
  return `label_replace(${expression}, "method", "$1", "method", ".*/(.*)")`;
}

export const LOOP_LAG: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: 0.1, color: 'orange' },
  { from: 0.5, color: 'red' },
];

/** Shares: certificates of Kubernetes live for hours, others for years. CertificateEnds asks for a fifth too. */
export const LIFE_LEFT: readonly Threshold[] = [
  { from: 0, color: 'red' },
  { from: 0.1, color: 'orange' },
  { from: 0.2, color: 'green' },
];

const END = series('keyturn_certificate_end_timestamp_seconds');
const BEGIN = series('keyturn_certificate_begin_timestamp_seconds');

/** Until the certificate ends; below 0 since it did. */
export function secondsLeft(): string {
  return `${END} - time()`;
}

/** The share of the life of the certificate that is left. */
export function lifeLeft(): string {
  return `(${END} - time()) / (${END} - ${BEGIN})`;
}
