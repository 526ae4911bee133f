/**
 * Why a connection with TLS failed, and what to do. A certificate for another name is no matter of its authority.
 *
 * @param code of Node; empty: unknown
 * @param hint of the engine
 */
export function tlsText(code: string, text: string, hint = ''): string {
  if (/ALTNAME|altnames/.test(code + text))
    return `TLS failed, its certificate is for another name: ${text} (${RENAME})`;
  const what = code === '' ? `TLS failed: ${text}` : `TLS failed with ${code}`;
  return `${what} (${hint}NODE_EXTRA_CA_CERTS names a CA of your own)`;
}

const RENAME = 'name the server as its certificate does, or give the server a certificate for this name';
