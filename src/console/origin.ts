/**
 * Who may have made a request: the page itself, or a person with a tool; never a page of somebody else that is open in the same
 * browser. Two ways lead past a browser's own rules. A name of a stranger may be pointed at this machine (DNS rebinding): so the
 * name under which we are asked must be one of ours. And a stranger's page may send what it may not read: so what changes something
 * must say that it comes from our page, or show a token, which no browser adds by itself.
 */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

/**
 * Why a call of the API, a login or a logout is not taken; unset: it is.
 *
 * @param changes it changes something, and shows no bearer token of its own
 */
export function foreign(request: IncomingMessage, changes: boolean): string | undefined {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin')
    return `this call comes from another page (Sec-Fetch-Site: ${one(site)}); the console's own page alone may make it`;
  const { origin } = request.headers;
  if (origin !== undefined && !isOwn(origin, request))
    return `this call comes from another page (Origin: ${one(origin)}); the console's own page alone may make it`;
  // Over plain HTTP beyond loopback browsers do not send the first; the second they always do, and no page can choose it.
  if (!changes || site === 'same-origin' || origin !== undefined) return undefined;
  return 'a call that changes something needs "authorization: Bearer TOKEN", or, where nobody is asked who they are, the header "Sec-Fetch-Site: same-origin"';
}

/** What a browser adds by itself, as it does what it once was told for a proxy before us (Basic), is no token. */
export function showsToken({ headers }: IncomingMessage): boolean {
  return /^Bearer +\S/i.test(headers.authorization ?? '');
}

function isOwn(origin: string, { headers, socket }: IncomingMessage): boolean {
  if (!URL.canParse(origin)) return false;
  const { host, protocol } = new URL(origin);
  // What came over plain HTTP may be somebody's who stands between.
  if (socket instanceof TLSSocket && protocol !== 'https:') return false;
  return host === headers.host?.toLowerCase();
}

function one(value: string | readonly string[]): string {
  return JSON.stringify(String(value).slice(0, 100));
}
