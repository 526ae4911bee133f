import type * as wire from '../gen/keyturn/v1/admin.js';
import type { ServerInfo } from '../words/server-view.js';
import { instantOf, unlessEmpty } from './answers.js';

export function serverInfo(message: wire.GetServerResponse): ServerInfo {
  return {
    ...message,
    startedAt: instantOf(message.startedAt),
    now: instantOf(message.now),
    principal: unlessEmpty(message.principal),
    cluster: unlessEmpty(message.cluster),
    consoleAddress: unlessEmpty(message.consoleAddress),
    settings: unlessEmpty(message.settings),
    limits: message.limits.map(({ limit, used, most }) => ({
      limit,
      used: Number(used),
      most: most === 0n ? undefined : Number(most),
    })),
  };
}
