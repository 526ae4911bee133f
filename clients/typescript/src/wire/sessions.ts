import type * as wire from '../gen/keyturn/v1/admin.js';
import type { SessionPage } from '../words/session-view.js';
import { instantOf, unlessEmpty } from './answers.js';
import { fromTimestamp, fromWireToken } from './time.js';

export function sessionPage({ sessions, nextPageToken, unavailable }: wire.ListSessionsResponse): SessionPage {
  const told = sessions.map(({ sessionId, principal, brokenSince, endsAt, turns, held }) => ({
    sessionId,
    principal: unlessEmpty(principal),
    brokenSince: brokenSince && fromTimestamp(brokenSince),
    endsAt: endsAt && fromTimestamp(endsAt),
    turns,
    held: held.map(({ token, since, queue, key, consumerId }) => ({
      queue,
      key,
      token: fromWireToken(token),
      since: instantOf(since),
      consumerId,
    })),
  }));
  return { sessions: told, nextPageToken, unavailable };
}
