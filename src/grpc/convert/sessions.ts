/** ListSessions. Inside, the name of a principal stands before the ids of its sessions, with U+001F between. */
import type { ListSessionsRequest, SessionPage, SessionReport } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { toOptionalTimestamp, toTimestamp } from './time.js';
import { unavailableMessages } from './unavailable.js';
import type { Check } from './validate.js';

const BETWEEN = '\u001f';
const USUAL_PAGE = 100;
/** Of an id with the name of its principal. */
const LONGEST_ID = 1_024;

export function listSessionsRequest(message: wire.ListSessionsRequest, check: Check): ListSessionsRequest {
  return {
    idContains: check.text('id_contains', message.idContains, LONGEST_ID),
    prefix: '',
    after: afterOf(message.pageToken, check),
    most: check.count('page_size', message.pageSize, check.limits.pageSize, USUAL_PAGE),
  };
}

/** An id may have any character: a token is told as what it is, and not as text that somebody could take for an id. */
function afterOf(token: string, check: Check): string {
  if (token === '') return '';
  const id = Buffer.from(token, 'base64url').toString();
  if (Buffer.from(id).toString('base64url') === token && id.length <= LONGEST_ID) return id;
  check.wrong('page_token', 'not one of ours', 'what an earlier answer gave');
  return '';
}

export function sessionsResponse(page: SessionPage): wire.ListSessionsResponse {
  const { sessions, more } = page;
  const last = more ? sessions.at(-1) : undefined;
  return {
    sessions: sessions.map(sessionMessage),
    nextPageToken: last === undefined ? '' : Buffer.from(last.id).toString('base64url'),
    unavailable: unavailableMessages(page),
  };
}

function sessionMessage({ id, brokenSince, endsAt, turns, held }: SessionReport): wire.SessionInfo {
  const at = id.indexOf(BETWEEN);
  return {
    sessionId: id.slice(at + 1),
    principal: at < 0 ? '' : id.slice(0, at),
    brokenSince: toOptionalTimestamp(brokenSince),
    endsAt: toOptionalTimestamp(endsAt),
    turns,
    held: held.map(({ token, since, ...one }) => ({ ...one, token: BigInt(token), since: toTimestamp(since) })),
  };
}
