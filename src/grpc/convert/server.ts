/** GetServer: what a sidecar tells of itself. */
import type { ServerView } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { toTimestamp } from './time.js';

export function serverResponse(view: ServerView): wire.GetServerResponse {
  const { addresses, asker, cluster, limits, settings, startedAt, now, ...same } = view;
  return {
    ...same,
    startedAt: toTimestamp(startedAt),
    now: toTimestamp(now),
    principal: asker?.name ?? '',
    rights: (asker?.rights ?? []).map(({ queues, groups, may }) => ({
      queues: [...queues],
      groups: [...groups],
      may: [...may],
    })),
    cluster: cluster ?? '',
    grpcAddress: addresses.grpc,
    httpAddress: addresses.http,
    consoleAddress: addresses.page ?? '',
    settings: settings ?? '',
    limits: limits.map(({ limit, used, most }) => ({ limit, used: BigInt(used), most: BigInt(most ?? 0) })),
  };
}
