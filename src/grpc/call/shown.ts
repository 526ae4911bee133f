/** What a caller shows: its token, its certificate, the way by which it comes. */
import type { Metadata, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { isLoopback } from '../../access/authenticator.js';
import type { Shown } from '../../access/principal.js';

export function showOf(call: ServerInterceptingCallInterface, metadata: Metadata): Shown {
  const { transportSecurityType, sslPeerCertificate } = call.getAuthContext();
  const { remoteAddress } = call.getConnectionInfo();
  // A socket of the file system has no address on the other side.
  const isUnix = remoteAddress === undefined;
  return {
    authorization: metadata.get('authorization').map(String),
    sans: sslPeerCertificate === undefined ? [] : namesIn(sslPeerCertificate.subjectaltname ?? ''),
    isUnix,
    isPrivate: isUnix || transportSecurityType === 'ssl' || isLoopback(remoteAddress),
  };
}

/**
 * `URI:spiffe://prod/orders, DNS:orders` as Node gives it. A name with a comma or a quote stands in quotes there, as JSON:
 * taken apart at its comma it could claim to be several.
 */
export function namesIn(text: string): readonly string[] {
  const names: string[] = [];
  const one = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy;
  for (let found = one.exec(text); found !== null && found[0] !== ''; found = one.exec(text)) {
    const [, kind = '', value = ''] = found;
    const plain: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof plain === 'string') names.push(`${kind}:${plain}`);
  }
  return names;
}
