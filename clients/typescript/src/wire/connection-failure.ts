/** Why no connection came about, in words that tell what to do. grpc-js has one status and one text for all of it. */

/** What the text of a failed handshake begins with. */
export const TLS_REFUSAL = 'TLS';

export interface ConnectionFailure {
  readonly message: string;
  /**
   * - `tls`: both sides are there and disagree: without a change nothing gets better;
   * - `maybe_tls`: a sidecar that speaks TLS would have done the same.
   */
  readonly kind: 'tls' | 'maybe_tls' | 'other';
}

/** Whether and how a connection is encrypted. */
export type Security = 'plain' | 'tls' | 'mutual_tls';

const LAST_ERROR = /^No connection established\. Last error: ([\s\S]*?)\. Resolution note: /;
/** What grpc-js says of a host that it does not find. */
const NO_NAME = /^Name resolution failed/;
/** What grpc-js says of a connection that was closed before the sidecar had said a word of HTTP/2. */
const CLOSED_AT_ONCE = /^(Failed to connect|(read|write) (ECONNRESET|EPIPE)) \(/;
/** OpenSSL's text: its words stand between colons, after numbers and before the place in its sources. */
const OPENSSL = /SSL routines:[^:]*:([^:]+)/;

/** Unset: it is not about a connection. */
export function connectionFailure(text: string, security: Security): ConnectionFailure | undefined {
  const last = LAST_ERROR.exec(text)?.[1];
  if (last === undefined) return NO_NAME.test(text) ? { message: text, kind: 'other' } : undefined;
  const other: ConnectionFailure = { message: last.replace(/^Error: /, ''), kind: 'other' };
  if (security === 'plain') return CLOSED_AT_ONCE.test(last) ? { message: MAYBE_TLS, kind: 'maybe_tls' } : other;
  if (CLOSED_AT_ONCE.test(last)) return { message: afterHandshake(security), kind: 'tls' };
  const openSsl = OPENSSL.exec(last)?.[1];
  if (openSsl !== undefined) return { message: ofOpenSsl(openSsl), kind: 'tls' };
  if (!last.startsWith(`${TLS_REFUSAL}: `)) return other;
  const why = last.slice(TLS_REFUSAL.length + 2);
  return {
    message: `no connection over TLS: ${isCertificate(why) ? notAccepted(why) : `the sidecar: ${why}`}`,
    kind: 'tls',
  };
}

/** Of a client without TLS. */
export const SPEAKS_TLS: ConnectionFailure = {
  message: 'the sidecar speaks TLS, and this client does not (option tls)',
  kind: 'tls',
};
const MAYBE_TLS =
  'the sidecar closed the connection before it said anything: it may want TLS (option tls), or be about to stop';

function afterHandshake(security: 'tls' | 'mutual_tls'): string {
  const what =
    security === 'tls'
      ? 'it may want a certificate of the client (options tls.cert and tls.key)'
      : 'it may not accept the certificate of the client (option tls.cert)';
  return `no connection over TLS: the sidecar closed it after the handshake: ${what}`;
}

function ofOpenSsl(words: string): string {
  if (words.includes('wrong version number') || words.includes('packet length too long'))
    return `no connection over TLS: the sidecar does not speak TLS (${words})`;
  if (words.includes('certificate required'))
    return `no connection over TLS: the sidecar wants a certificate of the client, options tls.cert and tls.key (${words})`;
  return `no connection over TLS: ${words}`;
}

/** What they say when no authority that is known here stands behind it. */
const AUTHORITY = /verify|issuer|self.signed/i;

/** What Node and OpenSSL say of a certificate. */
function isCertificate(why: string): boolean {
  return /certificate|altnames|CRL|signature/i.test(why);
}

function notAccepted(why: string): string {
  const hint = why.includes('altnames')
    ? ' (option tls.serverName: the name it must be for)'
    : AUTHORITY.test(why)
      ? ' (option tls.ca: the authority it must be of)'
      : '';
  return `the certificate of the sidecar is not accepted: ${why.trim()}${hint}`;
}
